"""Settings for all tests."""

from hypothesis import settings

# Tests assert behaviour, not seconds: a slow moment of the machine is no failure.
settings.register_profile("winkel", deadline=None)
settings.load_profile("winkel")
