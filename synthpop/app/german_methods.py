"""German texts of the first sentences of the methods of ``riskeval.protect``."""

from __future__ import annotations

METHODS: dict[str, str] = {
    "Replace the values of a column by classes.": "Die Werte einer Spalte durch Klassen ersetzen.",
    "Join categories under a new name, or rename them.": "Kategorien unter einem neuen Namen "
    "zusammenfassen oder umbenennen.",
    "Replace values above a limit, below a limit, or both.": "Werte über oder unter einer Grenze "
    "ersetzen, oder beides.",
    "Make values missing until every record matches at least k records on its keys.": "Werte "
    "unterdrücken, bis jeder Datensatz mit mindestens k Datensätzen im Schlüssel übereinstimmt.",
    "Make values missing in the records whose risk is above a threshold.": "Werte in den "
    "Datensätzen unterdrücken, deren Risiko über einer Schwelle liegt.",
    "Generalise columns along hierarchies, as little as k-anonymity allows.": "Spalten entlang von "
    "Hierarchien vergröbern, so wenig wie k-Anonymität es zulässt.",
    "Cut the file into regions of at least k records and give each region one value a key.": "Die "
    "Datei in Bereiche von mindestens k Datensätzen teilen, die je Schlüssel einen Wert erhalten.",
    "Change categories at random, by transition probabilities that are known and published.":
    "Kategorien zufällig ändern, mit bekannten und veröffentlichten Wahrscheinlichkeiten.",
    "Let households exchange their geography with similar households elsewhere.": "Haushalte "
    "tauschen ihre Region mit ähnlichen Haushalten anderswo.",
    "Replace identifiers by random numbers 1, 2, ..., equal ids by equal numbers.":
    "Identifikatoren durch Zufallszahlen 1, 2, ... ersetzen, gleiche durch gleiche.",
    "Put similar records into groups of at least k and give each group one value per variable.":
    "Ähnliche Datensätze in Gruppen von mindestens k fassen, die je Variable einen Wert erhalten.",
    "Add random noise to continuous variables.": "Stetige Variablen mit Zufallsfehlern überlagern.",
    "Swap each value with one whose rank differs by at most a share p of the records.": "Jeden "
    "Wert mit einem tauschen, dessen Rang sich um höchstens den Anteil p der Datensätze "
    "unterscheidet.",
    "Replace confidential values by those of other records, given variables that stay.":
    "Vertrauliche Werte durch die anderer Datensätze ersetzen, bei Variablen, die bleiben.",
    "Move records with a large (robust) distance to the edge of the tolerance ellipsoid.":
    "Datensätze mit großem (robustem) Abstand auf den Rand des Toleranzellipsoids setzen.",
    "Put the variables of a protected household file into the file of persons.": "Die Variablen "
    "einer geschützten Haushaltsdatei in die Personendatei übernehmen.",
    "Change sampling weights so that they tell less about the stratum of a record.": "Gewichte so "
    "ändern, dass sie weniger über die Schicht eines Datensatzes verraten.",
}  # fmt: skip
