"""Settings for all tests."""

from hypothesis import settings

# Tests assert behaviour, not seconds: a slow moment of the machine is no failure.
settings.register_profile("winkel", deadline=None)
# Under the sanitizers everything is several times slower; what they look for shows in few examples.
settings.register_profile("sanitized", deadline=None, max_examples=10)
settings.load_profile("winkel")
