"""Edit rules and expressions of a recipe: a small language that is parsed, never evaluated as code.

Statements::

    spouse: age >= 16                            all persons with that level of a category
    age < 16: status is missing                  all persons for whom a condition holds
    pension = 0 if age < 55
    py010n + py020n <= netIncome
    status in {retired, idle} if age >= 70
    child at least 14 years younger than head    the same: child: age <= head.age - 14
    exactly one head                             persons of a household; at least, at most, no
    partner married if and only if head married

Names are columns, or levels of a category; those with other characters stand in back-quotes
(columns) or quotes (levels). ``head.age`` is the age of the first person of the household who is
``head``, a level of some category. ``sum(x)``, ``mean(x)``, ``min(x)``, ``max(x)`` and
``count(condition)`` are of the household, ``equivalised_size(age)`` is its size on the modified
OECD scale; ``abs(x)``, ``round(x)`` and ``zero_if_missing(x)`` are of the person. Where a value
that a rule needs is missing, the rule is not broken.
"""
