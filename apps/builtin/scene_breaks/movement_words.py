"""Words for getting somewhere, as alternatives of regular expressions. Pure."""

import re


def _any(phrases: str) -> str:
    """The alternatives between the ``;`` of ``phrases``; a line that begins with ``|`` goes on with the one before."""
    return "|".join(part.strip() for part in re.sub(r"\s*\n\s*", " ", re.sub(r"\s*\n\s*\|", "|", phrases)).split(";"))


# One arrives at what follows.
ARRIVES = _any(
    r"""arriv(?:e|es|ed|ing)(?: back| safely)? (?:at|in|on|outside); reach(?:es|ed|ing)?;
    (?:gets?|got|ma[kd]e it|makes it|comes?|came)(?: back| out| down| up| safely| at last)? to; return(?:s|ed|ing)? to;
    (?:go|goes|went|heads?|headed)(?: straight)? back to; pull(?:s|ed)?(?: in| up| over)? (?:to|at|into|outside
    |in front of|by);
    land(?:s|ed)? (?:at|in|on); (?:dock|moor|anchor)(?:s|ed)? (?:at|in|off); emerg(?:e|es|ed) (?:into|onto|in|from);
    (?:comes?|came) (?:up)?on; (?:comes?|came) into; touch(?:es|ed)? down (?:in|at|on); check(?:s
    |ed)? into; enter(?:s|ed)?;
    (?:find|finds|found) (?:\w+sel(?:f|ves)) (?:back |standing |sitting |lying )?(?:in|at|on|outside|inside);
    settl(?:e|es|ed) (?:in|into|in at); (?:takes?|took) (?:shelter|refuge) (?:in|at); cross(?:es|ed)? into;
    stop(?:s|ped)? (?:off )?(?:at|in); park(?:s|ed)?(?: \w+){0,2} (?:in|at|outside|near|behind|in front of);
    step(?:s|ped)? off (?:the|a)(?: \w+){1,2} (?:in|at|into|onto); wash(?:es|ed)? (?:up|ashore) (?:on|in|at); (?:meet
    |meets|met)(?: up| again)? (?:at|in|outside)"""
)
TRAVELS = _any(
    r"""head(?:s|ed|ing)?; set(?:s)? (?:out|off|sail|course); travel(?:s|led|ed|ling)?; journey(?:s|ed)?;
    rid(?:e|es|ing);
    rode; driv(?:e|es|ing); drove; sail(?:s|ed|ing)?; fl(?:y|ies|ew); flees?; fled; escap(?:e|es|ed); march(?:es|ed
    |ing)?;
    hik(?:e|es|ed|ing); trek(?:s|ked)?; cycl(?:e|es|ed); (?:ma[kd]es?|making|made) (?:\w+ )?way; leav(?:e|es
    |ing); left; depart(?:s|ed)?;
    go; goes; went; going; mov(?:e|es|ed); row(?:s|ed)?; gallop(?:s|ed)?; teleport(?:s|ed)?; descend(?:s
    |ed)?; climb(?:s|ed)?;
    ascend(?:s|ed)?; rac(?:e|es|ed); speeds?; sped; relocat(?:e|es|ed); creep; crawl(?:s|ed)?;
    (?:catch|catches|caught|takes?|took|board|boards|boarded) (?:the|a|an)(?: \w+)? (?:train|bus|tram|taxi|cab|flight
    |plane
    |ferry|boat|ship|coach|subway|metro|carriage|lift|shuttle)"""
)
WALKS = _any(
    r"""walk(?:s|ed|ing)?; stroll(?:s|ed|ing)?; wander(?:s|ed|ing)?; run(?:s|ning)?; ran; hurr(?:y|ies|ied);
    rush(?:es|ed)?;
    slip(?:s|ped)?; sneak(?:s|ed)?; snuck; creeps?; crept; trudg(?:e|es|ed|ing); stumbl(?:e|es|ed); limp(?:s|ed)?;
    step(?:s|ped)?; stagger(?:s|ed)?; jog(?:s|ged)?; tramp(?:s|ed)?; press(?:es|ed)? on; push(?:es|ed)? on;
    continu(?:e|es|ed); tumbl(?:e|es|ed); ventur(?:e|es|ed); follow(?:s|ed)?(?: \w+){1,2}; hobbl(?:e|es|ed); saunter(?:s
    |ed)?; file[sd]?; burst(?:s)?; barg(?:e|es|ed);
    (?:leads?|led|guide[sd]?|drags?|dragged|brings?|brought|takes?|took|carr(?:y|ies|ied)|escort(?:s|ed)?|walk(?:s|ed)?
    |march(?:es|ed)?|haul(?:s|ed)?|shows?|showed|accompan(?:y|ies|ied)|drives?|drove)
    (?:him|her|them|me|us|you|(?:you|us|them) (?:both|all)|everyone|everybody|the \w+|[A-Z]\w+(?: and [A-Z]\w+)?)"""
)
WAY = (
    r"(?:,? (?:back|out|up|down|off|on|over|along|away|on foot|together|all the way|straight|north|south|east|west"
    r"|slowly"
    r"|quickly|quietly|wearily|hard|deeper|alone|arm in arm|hand in hand|through the \w+|across \w+|her|him|them))*"
)
TO = r"(?:to|into|in to|onto|toward|towards|for|inside|through|up to|down to|out to)"
HOME = r"(?:home|ashore|downtown|uptown|into town|to town|out to sea|overseas|abroad|back to (?:base|camp|work|school))"
ROADS = (
    r"(?:road|path|trail|street|door|doors|stairs|track|corridor|tunnel|bridge|eyes?|gaze|minds?|thoughts?|voice"
    r"|hands?|look"
    r"|attention|conversation|talk|smoke|smell|sound|light|water|river|blood)"
)
