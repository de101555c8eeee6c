# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a card says of its benchmark in every release."""

from __future__ import annotations

from collections.abc import Mapping

TASKS: Mapping[str, tuple[str, ...]] = {
    "candvg": ("image-text-to-text", "object-detection"),
    "fpco-dialog": ("visual-question-answering", "image-text-to-text"),
}

TAGS: Mapping[str, tuple[str, ...]] = {
    "candvg": ("groundset", "image", "visual-dialogue", "visual-grounding", "ambiguity", "benchmark"),
    "fpco-dialog": ("groundset", "image", "visual-dialogue", "false-premise", "benchmark"),
}

ABOUT: Mapping[str, str] = {
    "candvg": """\
CandVG asks which objects in a photograph are still plausible after some turns of a dialogue. A user means one object;
the first utterance leaves open which; each further turn, a question of the system and the user's response, narrows the
set or widens it. A model gets the photograph and the dialogue so far, and returns the boxes of all objects that are
still plausible: one (`CVG`) or several (`CSVG`).""",
    "fpco-dialog": """\
FPCO-Dialog asks whether a model corrects a false premise that the user keeps repeating. Ten questions are about one
target in a photograph. Turns 1 to 3 describe it correctly; turns 4 to 10 carry one small false premise about its
identity, an attribute or its location, the same each time. The question is whether the model says so.""",
}

EXAMPLE_INTRO: Mapping[str, str] = {
    "candvg": """\
One row of `samples` is a context: the turns 1 to `turn` of one dialogue, with the objects in `candidates` that are
plausible under it. A dialogue of n turns gives n rows. The last of one dialogue:""",
    "fpco-dialog": """\
One row of `dialogues` is one photograph with its ten questions. The user asks the texts in `modified`; `content` is the
same question with the correct description, and `false_premise` tells whether the two differ:""",
}

VARIANTS = """\
A row of `variants` is a row of `dialogues` once more, with another false description of the same kind in turns 4 to 10:
photograph, target, turns 1 to 3 and what each turn asks for are the same. The sets differ in these words alone, so that
scores on each set, and on the same dialogues, tell how far answers hang on one wording. A variant that a check
or a reviewer rejected is lacking in its set. Variants by set and kind of false premise:"""

# by benchmark, and for published records by the kind of their source
HOW_MADE: Mapping[str, str] = {
    "fpco-published": """\
Photographs and dialogues are those of a published set: nothing was chosen by boxes, and no question was written for
this release; an item below is one record. Each keeps its published id, after `fpco-`, and the cell that the id says:
complexity digit, category digit, index 01 to 90 (01-30 identity, 31-60 attribute, 61-90 location). What a record does
not say of its photograph and target comes from a file that completes the set; what stayed incomplete was left out. The
texts are checked by rule (ten questions, the description once in each, one small edit from turn 4 on) and accepted,
rejected or edited by the reviewers.""",
    "candvg": """\
Dialogues about photographs are filtered by the number and the sizes of the boxes that the first utterance may mean,
and dealt over strata by that number. Annotators then set a point on every plausible object at every turn; each point
becomes the object whose box centre is nearest. A dialogue in which a point does not clearly mean one object is left out
whole.""",
    "fpco-dialog": """\
Photographs are chosen by the boxes of one category's objects in them, and dealt over strata of complexity, category and
kind of false premise. The questions are written, checked by rule (ten questions, the description once in each, one
small edit from turn 4 on), and accepted, rejected or edited by the reviewers.""",
}

WITHDRAWN = """\
These photographs have been withdrawn, with all that was said about them. If you have an earlier version, stop using
them, and do not pass them on."""
WITHDRAWN_REASONS: Mapping[str, str] = {
    "owner": "who made it asks for it",
    "licence": "its licence is not as its source said",
    "fault": "it should not be shown, or is not what its record says",
}

POLICY: Mapping[str, str] = {
    "reference-only": "The image policy is `reference-only`: no photograph is embedded, all are referenced.",
    "permissive": """\
The image policy is `permissive`: a photograph is embedded, byte for byte as its source serves it, unless its licence is
NonCommercial; those are referenced.""",
    "non-commercial": """\
The image policy is `non-commercial`: photographs under NonCommercial licences are embedded too, byte for byte as their
source serves them. **Use this release for non-commercial purposes only**, or filter by `licence`.""",
}

_STAGES: Mapping[str, str] = {
    "10_import": "readable in its source",
    "20_filter": "fit for the benchmark by rule",
    "30_stratify": "ranked in a stratum",
    "40_images": "with a sound photograph",
    "45_screen": "accepted in the screening",
    "70_validate": "in the release",
}
# what the kept ones of a stage are
STAGES: Mapping[str, Mapping[str, str]] = {
    "candvg": {**_STAGES, "60_review": "with points that each mean one object"},
    "fpco-dialog": {
        **_STAGES,
        "50_generate": "with texts that pass the checks",
        "60_review": "accepted or edited in the review",
        "72_vary": "with another false description that passes the checks",
        "76_judge": "accepted or edited in the review",
    },
}
_RESERVE = """\
`30_stratify` ranks every eligible record, reserve included. `40_images` and the stages after it work on the records
that are needed to fill the strata, rejected ones included, and `40_images` also looks at a few of the reserve ahead;
so they may take in fewer than were ranked."""
FUNNEL_NOTE: Mapping[str, str] = {
    "candvg": _RESERVE,
    "fpco-dialog": f"{_RESERVE} An item is one category in one image.",
}

BROWSING = """\
`groundset browse FOLDER`, or the id of this repository on the Hub in place of the folder, opens the release in the
FiftyOne App: photographs with their dialogues, boxes and targets, to be filtered by stratum and licence."""

SCORING: Mapping[str, str] = {
    "candvg": """\
The label of a row of `samples` is the whole set in `candidates`: boxes in pixels of the photograph, in no order. A
prediction is a set of boxes for the same row, however many. Predicted and labelled boxes are matched one to one, with
as many pairs as can be had whose IoU reaches a threshold; what stays unmatched on either side is an error, so each row
has a precision, a recall and an F1. Report CVG and CSVG rows apart. The threshold and the way to average are the CandVG
paper's to say: name them with a score.""",
    "fpco-dialog": """\
Ask the ten questions in `modified` one after the other, with the photograph and all earlier questions and responses in
the context. The label of a turn is `false_premise`: whether a correction is due. People or a judging model say of each
response whether it corrects the description, given `target_description` and `modified_target_description`. Two rates
come from that for each turn: corrections that were due (TP, turns 4 to 10), and corrections that were not (FP, of
questions that are true: turns 1 to 3, and later ones if `content` is asked instead). Give both for each turn and false
class, and name the judge: published results give two judging models and their mean.""",
}
SCORING_NOTE = "This release holds the labels and no scorer. Name its version with every score."
SCORING_REFERENCED = """\
This release holds the labels and no scorer. Name its version with every score, and fill in referenced photographs first
(see above) or say how many rows were left out."""
