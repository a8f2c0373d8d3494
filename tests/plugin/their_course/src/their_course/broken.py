"""A module that cannot be imported, as where something that it needs is not installed."""

import a_package_that_nobody_has  # noqa: F401
