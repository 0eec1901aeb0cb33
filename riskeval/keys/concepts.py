"""What surveys measure, recognised by the names and labels of columns, in several languages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from synthpop.microdata.frame.names import SEX, folded, words_of
from synthpop.microdata.messages.message import message


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that surveys ask, and what it means for disclosure."""

    name: str  # the field's term
    role: str  # {"identifier", "key", "numeric", "sensitive"}
    why: str  # how an intruder comes to know it, or why it needs protection
    # compiled regular expression: finds it in the words of a name or label
    pattern: re.Pattern[str]


VISIBLE = message("visible to neighbours and colleagues")
REGISTERED = "in registers and public files"


def _concept(name: str, role: str, why: str, words: str) -> Concept:
    return Concept(name, role, why, re.compile(rf"\b(?:{folded(words)})\d?\b"))


CONCEPTS: tuple[Concept, ...] = (
    _concept(
        message("name, address or number of a person"),
        "identifier",
        message("names the person directly"),
        "(first|last|family|full|sur) ?name|surname|vorname|nachname|familienname|name|e ?mail|"
        "(tele)?phone( number)?|telefon|mobile( number)?|address|anschrift|adresse|street|"
        "stra(ss|ß)e|ssn|svnr|social security( number| no)?|passport( number)?|iban|"
        "tax ?(id|number)|ip address|latitude|longitude|gps|lat|lon|lng",
    ),
    _concept(
        "disability",
        "sensitive",
        message("concerns health"),
        "disab(led|ility)|handicap|behinderung|impairment",
    ),
    _concept(
        "health",
        "sensitive",
        message("a special category of personal data"),
        "health|disease|illness|diagnos(is|ed)|hiv|chronic|depress(ion|ed)|symptom|medic(al|ation)|"
        "gesundheit|krankheit|sante|salud|saude|salute|"
        "ph010|ph020|ph030|smok(er|ing)|alcohol|drug|pregnan(t|cy)",
    ),
    _concept(
        message("religion, opinion or union"),
        "sensitive",
        message("a special category of personal data"),
        "relig(ion|ious)?|church|konfession|political|politics|party|vote|trade union|union|"
        "gewerkschaft|partei",
    ),
    _concept(
        message("sexual life or crime"),
        "sensitive",
        message("a special category of personal data"),
        "sexual( orientation)?|crime|criminal|offen[cs]e|convict(ed|ion)|victim|violence|abuse",
    ),
    _concept(
        message("marital status"),
        "key",
        f"{VISIBLE}, {REGISTERED}",
        "mar(ital)? ?(stat|status)|marital|civil ?(status|state)|hh ?civil|familienstand|pb190|"
        "partnership status",
    ),
    _concept(
        message("date of birth"),
        "key",
        message("{registered}, and nearly unique", registered=REGISTERED),
        "birth ?(date|day)|date of birth|dob|geburts ?(datum|tag)",
    ),
    _concept(
        "age",
        "key",
        f"{VISIBLE}, {REGISTERED}",
        "age|alter|rx020|px020|birth ?year|year of birth|yob|geburtsjahr|age (class|group)|"
        "altersgruppe",
    ),
    _concept("sex", "key", f"{VISIBLE}, {REGISTERED}", "|".join((*SEX, "pb150"))),
    _concept(
        message("region or place"),
        "key",
        message("where a person lives is known to many"),
        "region|province|state|county|district|municipality|commune|city|town|location|nuts ?[123]|"
        "bundesland|land|kanton|canton|gemeinde|bezirk|kreis|plz|zip( ?code)?|post ?code|"
        "postal code|db040|urb ?rur|urban|rural|urbani[sz]ation|db100|stratum|strata",
    ),
    _concept(
        message("citizenship or country of birth"),
        "key",
        f"{VISIBLE}, {REGISTERED}",
        "citizen(ship)?|nation(ality)?|country of birth|birth country|staatsb(ü|ue)rgerschaft|"
        "staatsangeh(ö|oe)rigkeit|geburtsland|nationalite|nacionalidad|nacionalidade|nazionalita|cittadinanza|"
        "pb220 ?a|pb210|migrant|migration",
    ),
    _concept(
        message("relation in the household"),
        "key",
        VISIBLE,
        "relation(ship)?|relate|relat|kinship|kind ?pers|relation to (the )?(head|reference.*)|"
        "verwandtschaft",
    ),
    _concept(
        "household size and composition",
        "key",
        VISIBLE,
        "h ?size|hh ?size|household size|hx040|haushaltsgr(ö|oe)(ß|ss)e|"
        "(number of )?(children|kids|kinder)|num ?young|num ?old|household type",
    ),
    _concept(
        "education",
        "key",
        message("known to colleagues and on public profiles"),
        "educ(ation)?|edu|isced|school(ing)?|degree|qualification|bildung|schulabschluss|pe040|"
        "pe041",
    ),
    _concept(
        message("occupation and industry"),
        "key",
        message("known to colleagues and on public profiles"),
        "occupation|occu ?code|pri ?occu|isco|profession|job|beruf|nace|industry|branch|"
        "sector|wirtschaftszweig|employer|pl111|pl051|comp ?code",
    ),
    _concept(
        "employment status",
        "key",
        VISIBLE,
        "employ(ment|ed)?( status)?|labou?r( force)?( status)?|activity( status)?|econ(omic)? ?stat"
        "(us)?|erwerbsstatus|erwerb(st(ä|ae)tig)?|pl030|pl031|pos ?lab ?m|full ?part|contract|"
        "(statut|situation) d (activite|emploi)|situacion laboral",
    ),
    _concept(
        "language or ethnic group",
        "key",
        VISIBLE,
        "language|sprache|mother tongue|ethnic(ity)?|etni|race|tribe|ethnic group",
    ),
    _concept(
        "dwelling",
        "key",
        VISIBLE,
        "tenure|dwelling|housing|house type|roof|walls?|hh020|hh021|rooms|wohnform|eigentum",
    ),
    _concept(
        message("income, wealth or spending"),
        "numeric",
        message("in tax and bank files"),
        "income|inc|einkommen|earnings?|wages?|salary|lohn|gehalt|pension|benefits?|tax(es)?|"
        "expend(iture)?|spending|savings?|assets?|debts?|wealth|money|rent|turnover|revenue|profit|"
        r"(p ?y|h ?y)\d+ ?[ng]?|eq ?inc(ome)?|net ?income|gross ?income|\w*income",
    ),
)


def concept_of(name: str, label: str = "") -> tuple[Concept, bool] | None:
    """Return the concept of a column, and whether its name says so (else its label).

    Examples
    --------
    >>> concept_of("rb090")[0].name, concept_of("q7", "Age in completed years")[0].name
    ('sex', 'age')
    >>> concept_of("q7") is None
    True
    """
    for text, by_name in ((words_of(name), True), (words_of(label), False)):
        for concept in CONCEPTS:
            if text and concept.pattern.search(text):
                return concept, by_name
    return None
