"""Properties are about results: a slow machine must not fail one."""

from hypothesis import settings

settings.register_profile("gitmem", deadline=None)
settings.load_profile("gitmem")
