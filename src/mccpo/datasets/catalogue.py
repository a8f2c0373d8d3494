"""What is known of each public data set, as data: a test holds the docs against it."""

from __future__ import annotations

from dataclasses import dataclass

from mccpo.errors import InputError

_DATASHOP = "DataShop's terms of use; it needs an account, and private data sets the consent of their owner"
_ASSISTMENTS = "ASSISTments' terms of use (https://etrialstestbed.org/data-sets): identify nobody, pass nothing on"
_RETAINED = "learners with at least {} answers, at most 5,000 of them, drawn by a hash of their names"


@dataclass(frozen=True)
class PublicDataset:
    """A public data set: its origin and terms, and what mccpo makes of it.

    **Fields:**

    - `name`: by which this package knows it; `title`: what it is.
    - `home`: the page to fetch it from and to read its terms on.
    - `licence`: its terms in short. The page is what counts.
    - `cite`: the paper that its authors ask to be cited.
    - `files`: what of the release is needed, as it is called there.
    - `format`: the name of its log format.
    - `released`: how much there is, as its authors count.
    - `graph`: where prerequisites come from.
    - `sampled`: what of it goes into an environment.
    - `environments`: names of environments that are made of it.
    - `unchecked`: those of these fields that were written from memory. The others were held against the page, or
      against a copy of the release.

    >>> get("ednet-kt1").licence
    'CC BY-NC 4.0'
    >>> get("junyi-2020").unchecked
    ('licence', 'cite')
    """

    name: str
    title: str
    home: str
    licence: str
    cite: str
    files: tuple[str, ...]
    format: str
    released: str
    graph: str
    sampled: str
    environments: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    def __str__(self) -> str:
        """All of it, for people.

        >>> print(str(get("xes3g5m")).splitlines()[2])
        licence    MIT
        """
        entries = {
            "home": self.home,
            "licence": self.licence,
            "cite": self.cite,
            "files": ", ".join(self.files),
            "released": self.released,
            "graph": self.graph,
            "sampled": self.sampled,
        }
        if self.unchecked:
            entries["unchecked"] = f"{', '.join(self.unchecked)}: see the page"
        return "\n".join([f"{self.name}: {self.title}", *(f"{key:<11}{text}" for key, text in entries.items())])


_LEARNT = "learnt from the answers: nobody has stated one"

_CATALOGUE = (
    PublicDataset(
        name="assistments-2009",
        title="ASSISTments 2009-10, skill builder",
        home="https://sites.google.com/site/assistmentsdata/home/assistment-2009-2010-data/skill-builder-data-2009-2010",
        licence=_ASSISTMENTS,
        cite="Feng, Heffernan and Koedinger, User Modeling and User-Adapted Interaction, 2009",
        files=("skill_builder_data_corrected.csv",),
        format="assistments-2009",
        released="401,756 rows, 346,860 answers, 4,217 learners",
        graph=_LEARNT,
        sampled=_RETAINED.format(30),
        environments=("assistments-2009",),
    ),
    PublicDataset(
        name="assistments-2012",
        title="ASSISTments 2012-13, with affect",
        home="https://sites.google.com/site/assistmentsdata/datasets/2012-13-school-data-with-affect",
        licence=_ASSISTMENTS,
        cite="Feng, Heffernan and Koedinger, User Modeling and User-Adapted Interaction, 2009",
        files=("2012-2013-data-with-predictions-4-final.csv",),
        format="assistments-2012",
        released="about 6.1 million rows, of which more than half name no skill",
        graph=_LEARNT,
        sampled=_RETAINED.format(30),
        unchecked=("cite", "released"),
    ),
    PublicDataset(
        name="assistments-2017",
        title="ASSISTments, data mining competition 2017",
        home="https://sites.google.com/view/assistmentsdatamining",
        licence=_ASSISTMENTS,
        cite="Patikorn, Heffernan and Baker, ASSISTments Longitudinal Data Mining Competition, 2018",
        files=("anonymized_full_release_competition_dataset.csv",),
        format="assistments-2017",
        released="about 940,000 answers of 1,708 learners",
        graph=_LEARNT,
        sampled=_RETAINED.format(30),
        unchecked=("cite",),
    ),
    PublicDataset(
        name="ednet-kt1",
        title="EdNet KT1: answers to questions of an English test",
        home="https://github.com/riiid/ednet",
        licence="CC BY-NC 4.0",
        cite="Choi et al., EdNet: A Large-Scale Hierarchical Dataset in Education, AIED 2020",
        files=("KT1 (a folder of u….csv)", "contents/questions.csv"),
        format="ednet-kt1",
        released="about 95 million answers of 784,309 learners, 13,169 questions",
        graph=_LEARNT,
        sampled=_RETAINED.format(30),
    ),
    PublicDataset(
        name="junyi-2015",
        title="Junyi Academy 2012-2015, with experts' prerequisites",
        home="https://pslcdatashop.web.cmu.edu/DatasetInfo?datasetId=1198",
        licence=f"no commercial use; {_DATASHOP}",
        cite="Chang, Hsu and Chen, Modeling Exercise Relationships in E-Learning, EDM 2015",
        files=("junyi_ProblemLog_original.csv", "junyi_Exercise_table.csv"),
        format="junyi-2015",
        released="25,925,992 answers of 247,606 learners; 837 exercises with 981 prerequisites",
        graph="the experts', in junyi_Exercise_table.csv, its faults repaired",
        sampled=_RETAINED.format(30),
        environments=("junyi-2015-14", "junyi-2015-100", "junyi-2015-835"),
        unchecked=("home",),
    ),
    PublicDataset(
        name="junyi-2020",
        title="Junyi Academy 2018-2019, a year of practice",
        home="https://www.kaggle.com/datasets/junyiacademy/learning-activity-public-dataset-by-junyi-academy",
        licence="as its page states",
        cite="Pojen, Mingen and Tzuyang, Junyi Academy Online Learning Activity Dataset, 2020",
        files=("Log_Problem.csv", "Info_Content.csv", "Info_UserData.csv"),
        format="junyi-2020",
        released="16,217,311 answers of 72,758 learners, 1,330 exercises",
        graph="derived from the levels of Info_Content.csv",
        sampled=_RETAINED.format(30),
        unchecked=("licence", "cite"),
    ),
    PublicDataset(
        name="statics-2011",
        title="OLI Engineering Statics, autumn 2011",
        home="https://pslcdatashop.web.cmu.edu/DatasetInfo?datasetId=507",
        licence=_DATASHOP,
        cite="Koedinger et al., A Data Repository for the EDM Community: The PSLC DataShop, 2010",
        files=("the student-step export, a .txt",),
        format="datashop",
        released="189,297 first attempts of 282 learners, as passed on by others",
        graph=_LEARNT,
        sampled=_RETAINED.format(30),
        unchecked=("cite",),
    ),
    PublicDataset(
        name="xes3g5m",
        title="XES3G5M: mathematics of the third grade, with routes of components",
        home="https://github.com/ai4ed/XES3G5M",
        licence="MIT",
        cite="Liu et al., XES3G5M: A Knowledge Tracing Benchmark Dataset with Auxiliary Information, NeurIPS 2023",
        files=("kc_level/", "metadata/questions.json", "metadata/kc_routes_map.json"),
        format="xes3g5m",
        released="5,549,635 answers of 18,066 learners, 7,652 questions",
        graph="derived from the routes, among the hundred components that are practised most",
        sampled=_RETAINED.format(20),
    ),
)
_BY_NAME = {dataset.name: dataset for dataset in _CATALOGUE}


def names() -> tuple[str, ...]:
    """The names of all data sets.

    >>> names()[:2]
    ('assistments-2009', 'assistments-2012')
    """
    return tuple(_BY_NAME)


def get(name: str) -> PublicDataset:
    """What is known of a data set.

    >>> get("junyi-2015").graph
    "the experts', in junyi_Exercise_table.csv, its faults repaired"
    """
    if name not in _BY_NAME:
        raise InputError(f"there is no data set '{name}'", fix=f"choose from {', '.join(_BY_NAME)}")
    return _BY_NAME[name]
