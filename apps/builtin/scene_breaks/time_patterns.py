"""The patterns of time: those that tell wherever they stand, and those that tell at the start of a sentence. Pure."""

from apps.builtin.scene_breaks.calendar_words import (
    CLOCK,
    COUNT,
    DAYPART,
    EVENT,
    FEAST,
    GOES_BY,
    HOUR,
    LONG_UNITS,
    MONTH,
    NUMBERS,
    ORDINAL,
    POINT,
    SEASON,
    SPAN,
    STRETCH,
    UNIT,
    WEEKDAY,
)
from apps.builtin.scene_breaks.cue import CLEAR, EXPLICIT, LIKELY, compiled

CLAUSE = r"(?:when|before|by the time|that)"
SOMEWHERE = r"(?:reach|arriv|return|g[eo]t|ma[dk]e it|w[ao]ke|back|sun|light|dawn|night|home|came|come|enter)"
COMPANY = r"(?:guests|crowd|others|children|kids|customers|everyone|house|household|village|town|city|camp)"
HINT = 0.3  # with another cue it is enough
TOLD = 0.9  # within a message's first sentence it is enough, later it is not

ANYWHERE = compiled(
    {
        EXPLICIT: rf"""
            {NUMBERS}{UNIT}(?: and a (?:half|day))?,? (?:later|afterwards?|after that|thereafter|hence)
            (?:early |late )?(?:on )?the (?:very )?(?:next|following) {SPAN}
            (?:later|late|early) (?:on )?(?:that|the same|in the|this|on that) (?:same )?{SPAN}
            time[- ]?skips?|fast[- ]forward(?:s|ed)?|(?:skip|jump)(?:s|ped|ing)? (?:ahead|forward)
            the (?:scene|view|story) (?:changes|shifts|cuts|moves|fades|turns)|scene (?:change|shift|cut)
            the {SPAN} after
            {COUNT}{LONG_UNITS} had (?:passed|gone by|gone)|(?<!look )(?<!looked )at {HOUR}(?=[.,;])
            on (?:an?|the) (?:\w+ ){{0,3}}{WEEKDAY}(?: {DAYPART})?
            (?:by|before) {POINT},? (?:he|she|they|we|i|you)
            (?:leaves?|left|sets? (?:out|off)|r[io]des? out|depart(?:s|ed)?|broke camp) (?:at|just (?:before
            |after)) {POINT}
        """,
        CLEAR: rf"""
            (?:{NUMBERS}{LONG_UNITS}|(?:an?|one|another) (?:\w+ )?(?:hour|day|night|week|month|year|decade|season
            |century)) {GOES_BY}
            over the (?:course of the )?(?:next|following|coming|ensuing) {NUMBERS}{UNIT}
            the {LONG_UNITS} (?:that followed|afterwards?|after)
        """,
        TOLD: rf"""
            (?:at|by|around|before|after) (?:nearly |almost |about )?(?:a )?{CLOCK}
            \w+(?:ed|t|ng|on|ought) (?:\w+ )?(?:until|till|well into|far into|deep into|all through) (?:the )?(?:{POINT}
            |(?:late |early |small |next )*(?:night|morning|afternoon|evening|hours))
            (?<!is )(?<!was )(?<!are )(?<!were )(?:at|by|before|after|towards?) (?:{FEAST}|harvest|first light|daybreak
            |dawn|sunrise|sunset|nightfall|dusk|noon|midday|midnight)
            (?<!is )(?<!was )(?<!are )(?<!were )in (?:early |late |mid-?)?(?:the )?(?:{SEASON}|{MONTH})(?! of)
        """,
    }
)
LEADING = compiled(
    {
        EXPLICIT: rf"""
            {COUNT}{UNIT} of (?:\w+ )?(?:travel|rain|snow|silence|fever|calm|\w+ing)
            {COUNT}{UNIT} (?:on|after|past|since|into|out of)|{LONG_UNITS} (?:on|after)
            {NUMBERS}(?:days|weeks|months|nights|hours|day|week|night|month|hour)'s? (?:\w+ )?(?:march|ride|drive
            |walk|sail
            |journey|travel|climb|flight|voyage|trek|row|hike) (?:\w+ )?(?:br[io]\w+|later|on|took|takes|had|has
            |lands?|ended)
            (?:{COUNT}{UNIT} and )?{COUNT}(?:\w+ )?{STRETCH} (?:later|further on|farther on|down the (?:road|line)
            |on(?=,))
        """,
        CLEAR: rf"""
            {NUMBERS}(?:twenty|thirty|forty|fifty|ninety|[2-9]\d)(?:[- ]\w+)? minutes (?:later|after)
            {NUMBERS}half[- ]an[- ]hour (?:later|after)
            (?:that(?: same| very| first| whole)?|the same) (?:{DAYPART}|{WEEKDAY}|{SEASON}|weekend|week)
            (?:by|at|towards?|before|after|past|come|from) (?:the )?(?:{POINT}|{FEAST}|{WEEKDAY}(?: {DAYPART})?)
            (?:by|towards?|come) (?:the )?(?:late |early |mid-?)?(?:morning|evening|afternoon|night)
            (?:by|at|towards?|before) the end of the (?:\w+ )?{UNIT}
            in the (?:\w+ )?(?:morning|evening|afternoon)
            (?:the )?(?:dead|middle|small hours) of the (?:night|day|afternoon|morning)
            in the (?:early|small|wee|dead|middle) (?:\w+ )*(?:hours|night)
            (?:late |early |deep |midway |halfway )(?:in|into|on|through) (?:the )?(?:\w+ )?{SPAN}
            (?:late |early |mid-?)(?:next |on )?(?:{DAYPART}|{WEEKDAY}|{SEASON})|next {DAYPART}
            on (?:the|our|their|his|her|my) {ORDINAL} (?:\w+ )?(?:{DAYPART}|week)|on {WEEKDAY}(?: {DAYPART})?
            the (?:second|third|fourth|fifth|sixth|seventh|\w+th|next|last|final) (?:day|night|morning|week)
            (?:{WEEKDAY}|{FEAST})(?: {DAYPART})?(?=[.,:…—]| (?:c[ao]me|arrive|roll|dawn|f[io]u?nd|was|is)\w*)
            one (?:\w+ ){{0,2}}(?:{DAYPART}|{WEEKDAY})(?: in {MONTH})?
            (?:(?:past|after|well|long|gone|going on|by|in the) )*(?:{POINT}|(?:late |early |mid-?)?{DAYPART}) {CLAUSE}
            (?:past|after|gone|nearly|almost|nearer|about|around) {HOUR} {CLAUSE}
            (?:(?:past|after|well|long|gone) )*(?:{WEEKDAY}|{SEASON}|{MONTH}|{ORDINAL} day|{COUNT}{UNIT}
            |\w+ in the \w+ing) {CLAUSE}
            \w+ (?:don't|didn't|doesn't|do not|did not) (?:stop|rest|slow|speak|sleep|look)(?: \w+)? until
            (?:wasn't|was not|isn't|is not|not) until
            by the time (?=[\w' ]{{1,40}}\b{SOMEWHERE})\w+
            (?:it (?:has |had )?|has |had |it's )been {NUMBERS}{UNIT} since
            {NUMBERS}{UNIT} (?:had|have|has) (?:now |already )?(?:passed|gone|elapsed|slipped by|come and gone)
            time {GOES_BY}|the (?:rest of the |remainder of the )?{UNIT} {GOES_BY}|as (?:the )?{LONG_UNITS} {GOES_BY}
            |{DAYPART} {GOES_BY}
            the (?:\w+ )?{DAYPART} of the \w+(?: \w+)? (?:c[ao]mes?|arrive[sd]|dawn(?:s|ed)|is here)
            the (?:big|fateful|great|appointed|wedding|market) (?:day|night|evening|hour|morning)
            in (?:early |late |mid-?)?(?:the )?(?:{SEASON}|{MONTH})
            after (?:{COUNT})?(?:\w+ )?{LONG_UNITS} (?:of|on|at|in)|after {COUNT}{UNIT}
            (?:for|in|during) the (?:next|following|coming) {NUMBERS}{UNIT}
            in the {LONG_UNITS} (?:since|after|that followed)
            (?:early |late |mid-?)?(?:{SEASON}|{MONTH}|{DAYPART})(?:,| and| again)(?= )
            (?:at )?{CLOCK}|(?:at|by|around) {HOUR}(?=,)
            by the time [^,]{{3,60}}, (?:\w+ ){{1,4}}(?:already|long|miles|across|back|far|halfway|gone)
            (?:day|week|month|year|night) (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)(?=[.:,])
            (?:when (?:\w+ ){{1,2}}next|the next time) \w+
            (?:his|her|their|our|my|the) (?:first|second|third|last) (?:few )?{UNIT} (?:in|at|of|on|aboard|as) \w+
        """,
        LIKELY: rf"""
            (?:once|when|after) (?:it|(?:the )?{EVENT}) (?:is|was|had|has) (?:over|ended|done|finished)
            after what (?:felt|feels|seem(?:s|ed)) like (?:hours|days|weeks|an eternity|ages|forever)
            the \w+ (?:goes|went|rings|rang|sounds|sounded|calls|called) (?:\w+ )?for (?:the )?{EVENT}
            (?:at|in|during|over) (?:the |their |her |his |my |our )?(?:{EVENT}|interval|intermission|reception)(?=,)
            after (?:an? |the |their |her |his |my |our )?(?:\w+ ){{0,2}}{EVENT}
            (?:after|once) (?:the )?(?:last |final )?{COMPANY} (?:\w+ ){{0,3}}(?:gone|left|leaves?|goe?s?|asleep
            |dispersed|departed|bed)
            (?:sometime |some time |a (?:good |short |little |long )?while |a little )?(?:later|afterwards)(?=,| [a-z])
        """,
        HINT: r"""
            by the time|(?:ten|\w+teen|1\d) minutes (?:later|after)|eventually|at (?:long )?last|finally
        """,
    }
)
