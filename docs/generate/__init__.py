"""Pages and pictures of the site that are made from the code each time it is built: `python -m docs.generate docs`.

They are not kept in the repository, so they cannot drift.
"""
