"""Words for what surveys hold, in names, labels and value labels, of a dozen languages.

English, German, French, Spanish, Italian, Portuguese, Dutch, Danish, Norwegian, Swedish, Finnish,
Polish and Czech, and the names of EU-SILC and of American census files. Accents are folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from synthpop.microdata.frame.names import first_named, folded, words_of
from synthpop.microdata.messages.message import message

ROLES: dict[str, tuple[str, ...]] = {
    "weight": ("rb050", "weight", "design_weight", "weights", "w", "pw", "person_weight", "pb040",
               "pwgtp", "perwt"),
    "household": ("db030", "rx030", "hb030", "hid", "hhid", "household", "household_id", "hh_id",
                  "serialno", "serial"),
    "household_weight": ("db090", "hweight", "household_weight", "hw", "wgtp", "hhwt"),
    "household_size": ("hsize", "hhsize", "household_size", "size", "hx040"),
    "person": ("pid", "rb030", "person", "person_id", "perid"),
    "strata": ("db040", "strata", "stratum", "region", "estrato", "strate", "bundesland", "nuts2"),
    "psu": ("psu", "cluster", "clust", "ea", "db060", "psu_id"),
}  # fmt: skip
"""Role -> usual names, the likeliest first."""
WEIGHT_NAME = re.compile(
    # not the weight of a body
    r"^(?!.*(body|birth|corpor|k(ö|oe|o)rper|geburt|naissance|over_?weight|under_?weight|height"
    r"|weight_?(loss|gain|change|class|status|group|cat)|(weight|gewicht|poids)[ _]?(in[ _]?)?"
    r"(kg|kilo|lb|pound|gram|actuel)|(^|_)(kg|lbs?)(_|$)))"
    r".*(weight|gewicht|poids|ponderation|wgt|^inclusion_prob|^w$|^pw$|^hw$"
    r"|(^|_)(db0[89]0|rb05\d|rb06\d|pb0[4-8]0|rl070)|^pond(era)?(_|$)"
    r"|^factor(_?(exp|pond|per|hog).*)?$|^f_?exp|^peso_(per|ind|hog|fam|camp)|^pesofit"
    r"|^(per|hh)wt$|^coeff?_?(pond|rip)|^coefficiente|^fator_?(exp|pond)|ponderacion|ponderacao"
    r"|ponderazione|opregning|upprakning|kalibreringsv|designv(ekt|ikt|aegt|ægt)|painokerroin"
    r"|^waga_(os|gos|anal)|^vaha_(os|dom))",
    re.IGNORECASE,
)
_HOUSEHOLD = (
    "household|haushalts?|menage|hogar|foyer|famiglia|agregado|domicilio|huishoud(en)?|"
    "husholdnings?|husstands?|hushalls?|kotitalous|gospodarstwo|gospodarstwa|domacnosti?"
)
OF_HOUSEHOLDS = re.compile(rf"{_HOUSEHOLD}|\bhh|^h(w|wgt|weight)")
HOUSEHOLD_NAME = re.compile(
    rf"^({_HOUSEHOLD})s?$|\b(h?hid|h?h id"
    rf"|({_HOUSEHOLD}) ?(id|no|number|nr|nummer|numero|tunnus|cislo)"
    rf"|(id|no|number|nr|nummer|n|num|numero|numer|cislo)( of)?( the)? ?(du|del|de|da|della|do)? ?"
    rf"(men|{_HOUSEHOLD}))$"
)
ID_NAME = re.compile(r"(^|\b)id$|\b(ident(ifier)?|serial ?(no|number)?|kennung)$")
AGE = ("age", "rx020", "alter", "edad", "idade", "eta", "leeftijd", "alder", "ika", "wiek", "vek")
AGE_NAME = re.compile(
    rf"({'|'.join(AGE)})s?(p|y(ea)?rs|years?|gro?u?p|class|cat(egory)?|band|range|gruppe|klasse|code)?"
)
_BIRTH_YEAR = (
    "birth ?year|birth ?yr|year of birth|yob|rb080|pb140|geburtsjahr|geb ?jahr|"
    "annee (de )?naissance|annais|ano de nac(imiento)?|anno di nascita|ano de nascimento|"
    "geboortejaar|fodselsar|fodelsear|syntymavuosi|rok urodzenia|rok narozeni"
)
BIRTH_NAME = re.compile(rf"\b({_BIRTH_YEAR})\b")
SEX = ("rb090", "sex", "gender", "geschlecht", "sexe", "sexo", "sesso", "geslacht", "kjonn", "plec",
       "kon", "sukupuoli", "pohlavi", "genero", "pb150")  # fmt: skip
RELATION = ("relation", "relate", "relat", "kinship", "relationship", "rel", "relation_to_head",
            "parentesco", "lien", "parentela", "relp", "relshipp", "verwandtschaft", "rb240_f",
            "pokrewienstwo")  # fmt: skip
LEVELS: dict[str, tuple[str, ...]] = {
    "sex": (
        r"(fe|wo)m[ae]n|females?|girls?|frau(en)?|weiblich|femmes?|feminin|mujer(es)?|"
        r"femenino|donn[ae]|femminile?|femmina|mulher(es)?|feminino|vrouw(en)?|vrouwelijk|"
        r"kvind[ae]r?|kvinn[ae]r?|kvindelig|nainen|naiset|kobiet[ay]|zen[ay]|zensky",
        r"males?|m[ae]n|boys?|mann|manner|maennlich|mannlich|hommes?|masculin|hombres?|varon(es)?|"
        r"masculino|uom[oi]n?i?|maschi[oe]?|maschile|homem|homens|mannelijk|mand|maend|menn|"
        r"mies|miehet|mezczyzn[ay]|muzi?|muzsky",
    ),
    "marital status": (
        r".*(married|verheiratet|mari[ee]e?|casad[oa]|coniugat[oa]|gehuwd|gift|naimisissa|"
        r"zonat[ya]|zenaty).*",
        r".*(single|never|ledig|celibataire|solter[oa]|celibe|solteir[oa]|ongehuwd|ugift|ogift|"
        r"naimaton|kawaler|svobodny).*",
    ),
}
"""Concept -> patterns, each of which fits the text of a level; the two of the sex fit one each."""
SEX_LETTERS = ("fm", "mw", "fh", "hm", "mv", "km", "mn")


def named_or_containing(names: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Return the columns with one of the names, then those that have one as a word."""
    columns, names = list(columns), list(names)
    exact = [column for name in names if (column := first_named([name], columns)) is not None]
    containing = [column for column in columns if set(words_of(column).split()) & set(names)]
    return list(dict.fromkeys([*exact, *containing]))


def columns_named_for(role: str, columns: Iterable[str]) -> list[str]:
    """Return the columns named like one of a role, the likeliest first.

    The usual names of the role come in their order; then, for weights and households, names that
    contain a word for them.
    """
    names = [str(column) for column in columns]
    usual = [name for known in ROLES[role] if (name := first_named([known], names))]
    other_names: list[str] = []
    if role == "weight":
        of_households = ROLES["household_weight"]
        other_names = [n for n in names if WEIGHT_NAME.search(n) and n.lower() not in of_households]
    elif role == "household":
        other_names = [n for n in names if HOUSEHOLD_NAME.search(words_of(n))]
    return list(dict.fromkeys([*usual, *other_names]))


def levels_say(levels: Iterable[str]) -> str | None:
    """Return the concept that texts of levels say, whatever the column is called.

    Examples
    --------
    >>> levels_say(["Homme", "Femme"]), levels_say(["married", "single", "widowed"])
    ('sex', 'marital status')
    >>> levels_say(["yes", "no"]) is None
    True
    """
    texts = [words_of(level) for level in levels if str(level).strip()]
    if len(texts) < 2:
        return None
    if "".join(sorted(texts)) in SEX_LETTERS:
        return "sex"
    for concept, patterns in LEVELS.items():
        hits = [[re.fullmatch(pattern, text) is not None for text in texts] for pattern in patterns]
        complete = concept != "sex" or (len(texts) == 2 and sum(map(sum, hits)) == 2)
        if complete and all(map(any, hits)):
            return concept
    return None


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that surveys ask, and what it means for disclosure."""

    name: str  # the field's term
    role: str  # {"identifier", "key", "numeric", "sensitive"}
    why: str  # how an intruder comes to know it, or why it needs protection
    # compiled regular expression: finds it in the words of a name or label
    pattern: re.Pattern[str]
    is_codes: bool = False  # whether numbers are codes of a classification

    @property
    def of_time(self) -> bool:
        """Whether numbers are ages or dates."""
        return self.name in ("age", "date of birth")


REGION = message("region or place")
VISIBLE = message("visible to neighbours and colleagues")
REGISTERED = "in registers and public files"


def _concept(name: str, role: str, why: str, words: str, is_codes: bool = False) -> Concept:
    return Concept(name, role, why, re.compile(rf"\b(?:{folded(words)})\d?\b"), is_codes)


CONCEPTS: tuple[Concept, ...] = (
    _concept(
        message("name, address or number of a person"),
        "identifier",
        message("names the person directly"),
        "(first|last|family|full|sur) ?name|surname|vorname|nachname|familienname|name|e ?mail|"
        "(tele)?phone( number)?|telefon|mobile( number)?|address|anschrift|adresse|street|"
        "straße|ssn|svnr|social security( number| no)?|passport( number)?|iban|"
        "tax ?(id|number)|ip address|latitude|longitude|gps|lat|lon|lng|prenom|apellidos?|"
        "nombre|cognome|sobrenome|achternaam|fornavn|etternavn|efternamn|sukunimi|nazwisko|"
        "prijmeni|direccion|indirizzo|endereco|adres|osoite|adresa",
    ),
    _concept(
        "disability",
        "sensitive",
        message("concerns health"),
        "disab(led|ility)|handicap|behinderung|impairment|discapacidad|disabilita|deficiencia|"
        "invalidite|niepelnosprawnosc|vammaisuus",
    ),
    _concept(
        "health",
        "sensitive",
        message("a special category of personal data"),
        "health|disease|illness|diagnos(is|ed)|hiv|chronic|depress(ion|ed)|symptom|medic(al|ation)|"
        "gesundheit|krankheit|sante|salud|saude|salute|gezondheid|helse|halsa|sundhed|helbred|"
        "terveys|zdrowie|zdravi|maladie|enfermedad|malattia|doenca|"
        "ph010|ph020|ph030|smok(er|ing)|alcohol|drug|pregnan(t|cy)",
    ),
    _concept(
        message("religion, opinion or union"),
        "sensitive",
        message("a special category of personal data"),
        "relig(ion|ious)?|church|konfession|political|politics|party|vote|trade union|union|"
        "gewerkschaft|partei|syndicat|religione|religiao|godsdienst|uskonto|wyznanie|nabozenstvi",
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
        "partnership status|etat (civil|matrimonial)|estado (civil|conyugal)|stato civile|"
        "burgerlijke staat|civilstand|sivilstatus|siviilisaaty|stan cywilny|rodinny stav|msp",
    ),
    _concept(
        message("date of birth"),
        "key",
        message("{registered}, and nearly unique", registered=REGISTERED),
        "birth ?(date|day)|date of birth|dob|geburts ?(datum|tag)|date de naissance|"
        "fecha de nacimiento|data di nascita|data de nascimento|geboortedatum|fodselsdato|"
        "fodelsedatum|syntymaaika|data urodzenia|datum narozeni",
    ),
    _concept(
        "age",
        "key",
        f"{VISIBLE}, {REGISTERED}",
        f"{'|'.join(AGE)}|agep|px020|{_BIRTH_YEAR}|age (class|group)|altersgruppe",
    ),
    _concept("sex", "key", f"{VISIBLE}, {REGISTERED}", "|".join(SEX)),
    _concept(
        REGION,
        "key",
        message("where a person lives is known to many"),
        "region|regione|regiao|province|provincia|provincie|state|county|district|distrito|"
        "departement|municipality|municipio|commune|comune|concelho|city|ville|ciudad|citta|"
        "town|location|nuts ?[123]|bundesland|land|kanton|canton|gemeinde|gemeente|kommune?|"
        "kunta|gmina|powiat|wojewodztwo|obec|okres|kraj|bezirk|kreis|plz|zip( ?code)?|"
        "post ?code|code postal|postal code|db040|urb ?rur|urban|rural|urbani[sz]ation|db100|"
        "stratum|strata|puma|taz|maz|tract",
        True,
    ),
    _concept(
        message("citizenship or country of birth"),
        "key",
        f"{VISIBLE}, {REGISTERED}",
        "citizen(ship)?|nation(ality)?|country of birth|birth country|staatsb(ü|ue)rgerschaft|"
        "staatsangeh(ö|oe)rigkeit|geburtsland|nationalite|nacionalidad|nacionalidade|nazionalita|"
        "cittadinanza|ciudadania|cidadania|nationaliteit|statsborgerskab|statsborgerskap|"
        "medborgarskap|kansalaisuus|obywatelstwo|obcanstvi|pays de naissance|"
        "pais de nacimiento|pb220 ?a|pb210|migrant|migration|pobp|anc1p|anc2p|bpl",
        True,
    ),
    _concept(
        message("relation in the household"),
        "key",
        VISIBLE,
        "relation(ship)?|relate|relat|relp|relshipp|kinship|kind ?pers|"
        "relation to (the )?(head|reference.*)|verwandtschaft|parentesco|parentela|"
        "lien (de parente|avec .*)|pokrewienstwo|pribuzensky vztah",
    ),
    _concept(
        "household size and composition",
        "key",
        VISIBLE,
        "h ?size|hh ?size|household size|hx040|haushaltsgr(ö|oe)(ß|ss)e|taille du menage|"
        "tamano del hogar|(number of )?(children|kids|kinder)|num ?young|num ?old|household type",
    ),
    _concept(
        "education",
        "key",
        message("known to colleagues and on public profiles"),
        "educ(ation)?|edu|isced|school(ing)?|degree|qualification|bildung|schulabschluss|pe040|"
        "pe041|schl|diplome|(niveau d )?etudes|estudios|educacion|istruzione|titolo di studio|"
        "escolaridade|opleiding|uddannelse|utdanning|utbildning|koulutus|wyksztalcenie|vzdelani|"
        "fod1p|fod2p",
        True,
    ),
    _concept(
        message("occupation and industry"),
        "key",
        message("known to colleagues and on public profiles"),
        "occupation|occu ?code|pri ?occu|isco|profession|job|beruf|nace|industry|branch|"
        "sector|wirtschaftszweig|employer|pl111|pl051|comp ?code|occp|indp|naics ?p?|socp|occ|"
        "ind|ocupacion|professione|profissao|beroep|yrke|stilling|ammatti|zawod|povolani",
        True,
    ),
    _concept(
        "employment status",
        "key",
        VISIBLE,
        "employ(ment|ed)?( status)?|labou?r( force)?( status)?|activity( status)?|econ(omic)? ?stat"
        "(us)?|erwerbsstatus|erwerb(st(ä|ae)tig)?|pl030|pl031|pos ?lab ?m|full ?part|contract|"
        "(statut|situation) d (activite|emploi)|situacion laboral|condizione professionale|"
        "situacao (laboral|profissional)|arbeidsmarkt.*|beskaeftigelse|sysselsetting|"
        "sysselsattning|tyollisyys|aktywnosc zawodowa|zamestnani|esr",
    ),
    _concept(
        "language or ethnic group",
        "key",
        VISIBLE,
        "language|sprache|mother tongue|ethnic(ity)?|etni|race|tribe|ethnic group|rac1p|hisp|"
        "langue|idioma|lengua|lingua|taal|sprog|sprak|kieli|jezyk|jazyk",
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
        "income|inc|\\w*einkommen|earnings?|wages?|salary|lohn|gehalt|pension|benefits?|tax(es)?|"
        "expend(iture)?|spending|savings?|assets?|debts?|wealth|money|rent|turnover|revenue|profit|"
        r"(p ?y|h ?y)\d+ ?[ng]?|eq ?inc(ome)?|net ?income|gross ?income|\w*income|revenus?|"
        "salaires?|ingresos?|renta|salario|reddito|rendimento|renda|inkomen|loon|indkomst|inntekt|"
        "inkomst|lon|tulot?|palkka|dochod|przychod|prijem|prijmy|mzda|pincp|hincp|wagp|pernp|fincp",
    ),
)


def concept_of(
    name: str, label: str = "", levels: Iterable[str] = ()
) -> tuple[Concept, str] | None:
    """Return the concept of a column, and whether its "values", "label" or "name" say so.

    Examples
    --------
    >>> concept_of("rb090")[0].name, concept_of("q7", "Age in completed years")[0].name
    ('sex', 'age')
    >>> concept_of("v3", levels=["hombre", "mujer"])[1]
    'values'
    >>> concept_of("q7") is None
    True
    """
    said = levels_say(levels)
    if said is not None:
        return next(concept for concept in CONCEPTS if concept.name == said), "values"
    for text, evidence in ((words_of(name), "name"), (words_of(label), "label")):
        for concept in CONCEPTS:
            if text and concept.pattern.search(text):
                return concept, evidence
    return None
