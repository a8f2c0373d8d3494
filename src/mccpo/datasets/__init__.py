"""Public data sets: where each comes from, under which licence, what is taken of it, and an environment made of it.

mccpo downloads nothing and ships no data set. You fetch a release from its home page, after reading its terms there,
and `prepare` makes an environment of the file.

>>> from mccpo import datasets
>>> "ednet-kt1" in datasets.names()
True
>>> ednet = datasets.get("ednet-kt1")
>>> ednet.licence
'CC BY-NC 4.0'
>>> ednet.home
'https://github.com/riiid/ednet'

`read` gives the canonical table of a release. Here the release is made up, in the schema of the real one:

>>> import tempfile
>>> from mccpo.logs.synthetic import generate
>>> folder = tempfile.mkdtemp()
>>> _ = generate("junyi-2020", f"{folder}/junyi", rows=200, learners=5)
>>> logs = datasets.read("junyi-2020", f"{folder}/junyi")
>>> logs.account.interactions
200
"""

from mccpo.datasets.catalogue import PublicDataset, get, names
from mccpo.datasets.gallery import GalleryEntry, gallery
from mccpo.datasets.preparation import prepare, read

__all__ = ["GalleryEntry", "PublicDataset", "gallery", "get", "names", "prepare", "read"]
