"""German texts of the journeys "judge" and "create"."""

from __future__ import annotations

JOURNEYS: dict[str, str] = {
    "Skip to the page": "Zur Seite springen",
    "Recoded, so each file is shown in its own classes: {names}.": "Umcodiert, daher steht jede "
    "Datei in ihren eigenen Klassen: {names}.",
    "Row": "Zeile",
    "Sample count": "Anzahl in der Stichprobe",
    "Population count": "Anzahl in der Grundgesamtheit",
    "Household risk": "Haushaltsrisiko",
    "Records below {k}: {n}.": "Datensätze unter {k}: {n}.",
    "From": "Von",
    "To": "Bis",
    "Difference": "Unterschied",
    "Work on some of the records only (nothing given: on all)": "Nur einen Teil der Datensätze "
    "bearbeiten (ohne Angabe: alle)",
    "Household file": "Haushaltsdatei",
    "You work on one row a household.": "Sie arbeiten mit einer Zeile je Haushalt.",
    "Merge into the persons": "Mit den Personen zusammenführen",
    "Back without merging": "Zurück, ohne zusammenzuführen",
    "Work on the households": "Mit den Haushalten arbeiten",
    "Protect what members share in one row a household; all of them get the result.": "Schützen "
    "Sie, was Mitglieder gemeinsam haben, in einer Zeile je Haushalt; alle erhalten das Ergebnis.",
    "Taking out the households": "Die Haushalte werden herausgelöst",
    "Merging the households": "Die Haushalte werden zusammengeführt",
    # make this file pass
    "Make this file pass": "Grenzen einhalten",
    "Limits": "Grenzen",
    "Recodings, suppressions, noise, microaggregation and swapping are tried from the current "
    "state of the file; every plan that is shown was carried out, attacked and measured.": "Ver"
    "gröberungen, Unterdrückungen, Überlagerung, Mikroaggregation und Vertauschung werden vom "
    "jetzigen Stand der Datei aus versucht; jeder gezeigte Plan wurde ausgeführt, angegriffen und "
    "gemessen.",
    "Cells that may become missing, in percent": "Zellen, die fehlen dürfen, in Prozent",
    "Seconds to search": "Sekunden für die Suche",
    "Search": "Suchen",
    "Plans": "Pläne",
    "Plan": "Plan",
    "Steps": "Schritte",
    "Loss": "Verlust",
    "Cells lost": "Verlorene Zellen",
    "Meets the limits": "Hält die Grenzen ein",
    "Take it": "Übernehmen",
    "Plans on the front of risk and loss": "Pläne am Rand von Risiko und Verlust",
    "The file has changed since: search again.": "Die Datei hat sich seither geändert: suchen Sie "
    "noch einmal.",
    "Looking for plans": "Pläne werden gesucht",
    # judge
    "Any synthetic or protected file against its original: what would intruders learn, and what "
    "do users lose?": "Eine synthetische oder geschützte Datei gegen ihr Original: Was würden "
    "Angreifer erfahren, und was verlieren die Nutzer?",
    "Files": "Dateien",
    "Reading the files": "Die Dateien werden gelesen",
    "The original": "Das Original",
    "Confidential file": "Vertrauliche Datei",
    "Releases to judge": "Zu beurteilende Dateien",
    "Synthetic or protected file": "Synthetische oder geschützte Datei",
    "synthetic records": "synthetische Datensätze",
    "changed records of the original": "geänderte Datensätze des Originals",
    "Remove": "Entfernen",
    "Persons who were not in the original": "Personen, die nicht im Original waren",
    "With such a hold-out the attacks tell what the release gives away of those who took part. It "
    "may be left out.": "Mit solchen zurückgehaltenen Personen zeigen die Angriffe, was die Datei "
    "über die Teilnehmer verrät. Sie können fehlen.",
    "Hold-out file": "Datei der zurückgehaltenen Personen",
    "What the files hold": "Was die Dateien enthalten",
    "Original: {n} records, {m} columns": "Original: {n} Datensätze, {m} Spalten",
    "{name}: {n} records": "{name}: {n} Datensätze",
    "without {names}": "ohne {names}",
    "What would an intruder know of a person, and what would he like to learn?": "Was weiß ein "
    "Angreifer von einer Person, und was möchte er erfahren?",
    "known to the intruder (key)": "dem Angreifer bekannt (Schlüssel)",
    "looked for (target)": "gesucht (Ziel)",
    "number that users estimate": "Zahl, die Nutzer schätzen",
    "Judgement": "Urteil",
    "Compare and attack": "Vergleichen und angreifen",
    "Every release is compared with the original; synthetic ones are attacked as intruders would. "
    "The same seed gives the same numbers.": "Jede Datei wird mit dem Original verglichen; "
    "synthetische werden angegriffen, wie Angreifer es täten. Der gleiche Startwert gibt die "
    "gleichen Zahlen.",
    "Seed": "Startwert",
    "Judge the releases": "Dateien beurteilen",
    "Comparing the releases with the original": "Die Dateien werden mit dem Original verglichen",
    "Attacking the synthetic files": "Die synthetischen Dateien werden angegriffen",
    "Attacks on {name}": "Angriffe auf {name}",
    # create
    "From a survey to a synthetic population of households and persons: recipe, known totals, fit "
    "and risk.": "Von einer Erhebung zu einer synthetischen Population aus Haushalten und "
    "Personen: Rezept, bekannte Summen, Güte und Risiko.",
    "Survey": "Erhebung",
    "Survey, one row a person": "Erhebung, eine Zeile je Person",
    "Writing a first recipe": "Ein erstes Rezept wird geschrieben",
    "Take roles and recipe": "Rollen und Rezept übernehmen",
    "household weight": "Haushaltsgewicht",
    "household size": "Haushaltsgröße",
    "person": "Person",
    "primary sampling unit": "Primäreinheit der Stichprobe",
    "Totals": "Summen",
    "Known totals, as from a census: one file a table, with columns named as in the survey and one "
    "column of totals. They may be left out.": "Bekannte Summen, etwa aus einer Volkszählung: je "
    "Tabelle eine Datei, mit Spalten wie in der Erhebung und einer Spalte der Summen. Sie können "
    "fehlen.",
    "Add a table": "Eine Tabelle hinzufügen",
    "Table of totals": "Tabelle der Summen",
    "What is counted": "Was gezählt ist",
    "Column of the totals": "Spalte der Summen",
    "persons": "Personen",
    "households": "Haushalte",
    "Recipe": "Rezept",
    "Stages run in this order; each may use what the stages before it have made.": "Die Stufen "
    "laufen in dieser Reihenfolge; jede kann nutzen, was die Stufen davor gemacht haben.",
    "Nothing yet": "Noch nichts",
    "Add a stage": "Eine Stufe hinzufügen",
    "Kind": "Art",
    "Earlier": "Früher",
    "Later": "Später",
    "Change the stage": "Stufe ändern",
    "Rules": "Regeln",
    "What must hold of every person, one rule a line": "Was für jede Person gelten muss, je Zeile "
    "eine Regel",
    "Change the rules": "Regeln ändern",
    "Checking the recipe": "Das Rezept wird geprüft",
    "The recipe can be run.": "Das Rezept kann laufen.",
    "Population": "Population",
    "Run the recipe": "Das Rezept ausführen",
    "Size, as a factor": "Größe, als Faktor",
    "1 makes a population of the size that the weights say": "1 gibt eine Population in der Größe, "
    "die die Gewichte sagen",
    "Create the population": "Population erzeugen",
    "Creating the population": "Die Population wird erzeugt",
    "Fit": "Güte",
    "Go on": "Weitermachen",
    "How well it fits the survey": "Wie gut sie zur Erhebung passt",
    "Five intruders": "Fünf Angreifer",
    "What would somebody learn from the population who knows these variables of a person in the "
    "survey?": "Was erfährt jemand aus der Population, der diese Variablen einer Person der "
    "Erhebung kennt?",
    "Known to the intruder": "Dem Angreifer bekannt",
    "Looked for": "Gesucht",
    "Choose": "Wählen",
    "Attack the population": "Population angreifen",
    "Attacking the population": "Die Population wird angegriffen",
    "What they learn": "Was sie erfahren",
    "The population": "Die Population",
    "Write the population": "Population schreiben",
    "A sample of it": "Eine Stichprobe daraus",
    "Households to draw": "Zu ziehende Haushalte",
    "Draw and write the sample": "Stichprobe ziehen und schreiben",
    "Run file": "Steuerdatei",
    "Run file for synthpop run": "Steuerdatei für synthpop run",
}
