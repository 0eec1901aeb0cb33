"""Stated parameters of the invented country: what an estimate from the demo survey should find."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEMO_TRUTH", "REGIONS", "DemoTruth", "Region"]


@dataclass(frozen=True, slots=True)
class Region:
    """One of the nine regions."""

    name: str
    share: float  # of the households of the country; the counts are exact up to rounding
    urban: float  # 0 (village) to 1 (city): more single persons and fewer large families
    foreign: float  # share of households whose head, if younger than 45, is not a national
    pay: float  # added to the logarithm of every wage
    unemployment: float  # factor on the odds of being unemployed
    response: float  # added to the log odds of answering the survey


REGIONS: tuple[Region, ...] = (
    Region("Eastmoor", 0.032, 0.10, 0.07, -0.08, 1.0, 0.30),
    Region("Lowlands", 0.189, 0.25, 0.11, 0.03, 0.8, 0.15),
    Region("Capital", 0.207, 1.00, 0.33, 0.02, 1.7, -0.45),
    Region("Lakeland", 0.068, 0.30, 0.10, -0.05, 1.2, 0.25),
    Region("Midvale", 0.142, 0.40, 0.12, -0.03, 1.0, 0.10),
    Region("Uplands", 0.167, 0.35, 0.14, 0.03, 0.6, 0.00),
    Region("Riverside", 0.066, 0.50, 0.19, 0.02, 0.7, -0.10),
    Region("Highlands", 0.084, 0.35, 0.17, -0.04, 0.7, 0.05),
    Region("Westhaven", 0.045, 0.35, 0.22, 0.06, 0.8, -0.15),
)


@dataclass(frozen=True, slots=True)
class DemoTruth:
    """Parameters of the super-population and of the survey drawn from it.

    Attributes
    ----------
    seed : int
        Seed of the population that the stored survey was drawn from.
    households : int
        Number of households of that population.
    pareto_shape : float
        Shape of the Pareto distribution that equivalised income follows above the threshold,
        counted over persons.
    tail_share : float
        Share of persons above the threshold.
    tail_blend : float
        Share of persons above which the distribution bends smoothly towards the tail.
    wage_education : tuple of float
        Added to the logarithm of the full-time wage, by level of education.
    wage_women : float
        Added to the logarithm of the full-time wage of women: the adjusted pay gap.
    wage_citizenship : tuple of float
        The same by citizenship.
    wage_parents : float
        The same of head and partner with a child under 19; it stands for family allowances, of
        which the demo data have no variable.
    wage_sd_household, wage_sd_person : float
        Standard deviations of the parts of the log wage that members of a household share and
        do not share.
    gross_sample : int
        Households drawn, before non-response.
    allocation_power : float
        Households are drawn in proportion to the size of the region to this power.
    item_nonresponse : float
        Share of persons aged 16 and over whose education is missing in the survey.

    Notes
    -----
    The effects on wages hold exactly in the model, before the upper tail of household income is
    bent to its Pareto shape; that step raises the larger wages of households in the upper 15
    percent. A regression on the final full-time wages of the population gives -0.139 for women
    and up to 0.05 more in size for education, citizenship and region.
    """

    seed: int = 20260704
    households: int = 200_000
    pareto_shape: float = 2.8
    tail_share: float = 0.05
    tail_blend: float = 0.15
    wage_education: tuple[float, ...] = (-0.22, -0.12, 0.0, 0.12, 0.32)
    wage_women: float = -0.14
    wage_citizenship: tuple[float, ...] = (0.0, -0.06, -0.18)
    wage_parents: float = 0.16
    wage_sd_household: float = 0.15
    wage_sd_person: float = 0.23
    gross_sample: int = 7_800
    allocation_power: float = 0.5
    item_nonresponse: float = 0.03


DEMO_TRUTH = DemoTruth()
