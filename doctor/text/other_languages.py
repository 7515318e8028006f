"""Sentences in Korean, Chinese, Japanese, Russian, Spanish, German and French: which causes they make likely.

A second linear model, over the beginnings of words and, where no blanks part them, pairs of characters. It learns
from our own sentences (`benchmarks/cases/sentences`, `training/other_languages.py`). It only ranks and proves nothing;
it is asked where no message of the text says what fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pkgutil import get_data
from typing import NamedTuple

from ..formats.lazy import lazy
from ..snapshot import Ranked, Snapshot, Symptom
from . import ranker
from .ranker import NOTHING, Model, parse, probability
from .statement import Line

FILE = "other_languages.bin"
ID = "sentence-in-another-language"
"""Of the symptom that stands for such sentences."""
_WORTH_TELLING = 0.1
MOST = 0.7
"""The highest probability reported: the model was trained on our own sentences, which are plainer than posts."""
_WEIGHT, _LEAST = 0.3, 1e-3
"""Of the English ranker's shares: the power, and from which one on they differ."""
_LETTERS = 3
"""Letters of another script that make a line a sentence."""
_WORDS = 2
"""Words of a language that make a line a sentence."""
_SCRIPTS = {
    "Korean": lazy(r"[\uac00-\ud7a3]"),
    "Japanese": lazy(r"[\u3040-\u30ff]"),
    "Chinese": lazy(r"[\u3400-\u9fff]"),
    "Russian": lazy(r"[\u0400-\u04ff]"),
}
"""The first that has letters counts: Japanese has Chinese ones too."""
_LATIN = {
    "Spanish": lazy(
        r"\b(?:el|los|las|una|que|qué|de|del|en|con|por|para|mi|es|está|pero|c[oó]mo|se|al|y|sin|después|tengo|dice"
        r"|hay|ahora|cuando|desde|dentro|tarjetas?|gráficas?|controlador|contenedor|memoria|entrenamiento|duda"
        r"|tiene|aparece|versi[oó]n)\b|[¿¡ñáíóú]"
    ),
    "German": lazy(
        r"\b(?:der|das|die|was|hat|haben|habe|wegen|immer|gibt|wann|welche|eine?[nmr]?|und|ist|nicht|mit|auf|ich|für|im|den|dem|wird|beim|nach|kein|keine|weil|meldet|zu|von|aber|wie"
        r"|warum|nur|ohne|seit|geht|läuft|meine?|sich|auch|treiber|grafikkarten?|karten?|fehler|frage|sind|reicht"
        r"|gegen|gleiche|speicher|gebaut|rechner)\b"
        r"|[äöüß]"
    ),
    "French": lazy(
        r"\b(?:le|la|les|une?|des|et|est|dans|avec|sur|pour|je|que|du|au|pas|ce|ne|mon|ma|mais|depuis|sans|aucune?|il|qui|toujours|faire"
        r"|après|comment|carte|graphique|pilote|conteneur|noyau|erreur|mémoire|bibliothèques?|marche)\b"
        r"|\b(?:[jlndcs]|qu)['\u2019](?=\w)|[àâçéèêîôûœ]"
    ),
}
_ENGLISH = lazy(r"\b(?:the|is|are|and|to|of|in|it|my|with|not|for|on|this|that|was|has|be|from|at|by|or|as|you|we)\b")
_SUBJECT = lazy(
    r"gpu|cuda|nvidia|nvml|torch|nccl|tensorflow|vram|geforce|[rg]tx|cudnn|nvcc|driver|docker|llama|glibc"
    r"|dataloader|shm"
    r"|dkms|xformers|flash|ptx|num_workers|mmcv|faiss|sageatt|detectron|epo(?:ch|ca|que)|[2345]0[5-9]0|[ahv]100"
    r"|\bt4\b"
    r"|그래픽|엔비디아|공유 ?메모리|데이터 ?로[더딩]|어텐션|드라이버|쿠다|토치|컨테이너|텐서|에폭|显卡|驱动|容器"
    r"|英伟达|张卡|到卡|ドライバ|グラボ|グラフィック|コンテナ|エポック"
    r"|видеокарт|драйвер|контейнер|карт[аыу]\b|эпох|tarjeta|gráfica|controlador|contenedor|treiber|karte|carte|pilote"
    r"|conteneur"
)
_FAILS = lazy(
    r"error|not found|cannot|could not|not exist|undefined|unsupported|incompat|mismatch|\bnone\b|false|cpuonly|\+cpu"
    r"|cpu ?(?:버전|전용|版|専用)|\bcpu-(?:version|variante|wheel|build|torch)"
    r"|(?:versi[oó]n|variante?) (?:de |pour )?cpu"
    r"|для cpu|안 ?[되돼됩된됨보잡올맞먹나들돌써씁쓰건넘깔띄]|못|없|않|에러|오류|실패|죽|느리|느린|느려|부족|불가|충돌"
    r"|불일치|미스매치|멈|놀고|쉬고"
    r"|기다|병목|모르|깨|낮|오래|낡|옛날|예전|구버전|다르|다릅|다른|빠졌|빠진|사라|사망|덮어|대기|한가|작아|섞|때문"
    r"|거부|빈 리스트|문제|만 있|cpu로만|cpu만|손으로"
    r"|不|没|无|错|失败|慢|崩|挂|缺|低|闲|等|只|旧|老|未|冲突|警告|退回|死|坏|卡住|空|覆盖|拒绝|手动|认不"
    r"|ない|ません|なかった|なくな|なく|なし|エラー|失敗|落ち|遅|不足|不可|不明|不整合|不一致|止|古|違|異な|だめ"
    r"|消え|待|衝突|食い違|警告|壊|死"
    r"|できず|られず|合わ|非対応|未対応|遊|暇|だけ|しか|空|無理|上書き|せい|拒否"
    r"|\bне|\bнет\b|\bбез\b|ошибк|пада|упа|слом|медл|стар|пропа|конфл|проста|ждать|жд[её]т|ожида|предупр|умира|убит"
    r"|руга"
    r"|пуст|разн|недостат|неизвест|только|мала|мало|упира|низк|отвер|перестал|останавл|отдыха|просит|вылета|процессор"
    r"|\bno\b|\bsin\b|\bfall|\bfalt|viej|antigu|lent|conflict|muere|muert|\bcae\b|rompi|avis|esper|insufic|distint"
    r"|\bsolo\b"
    r"|ning[uú]n|desapar|equivoc|parad|descans|vacía|rechaz|dejó de|queja|desconoc|se para\b|chocan|cuello|pide que"
    r"|\bnicht|\bkein|\bohne\b|fehl|\balte?[smn]?\b|uralt|veralt|langsam|stürzt|absturz|sterb|stirbt|\btot\b|kaputt"
    r"|scheiter|warn|wart|unbekannt|konflikt|\bnur\b|\bweg\b|falsch|\bzu (?:neu|klein|wenig)|verschw|leer|bricht"
    r"|verschied"
    r"|unterschied|langweil|lehnt|unpassend|gering|beißt|meldung|bleibt .{0,30}stehen|flaschenhals|ruht|unmöglich"
    r"|\bne\b|\bn['\u2019]|\bpas\b|\bsans\b|erreur|échou|plant|vieux|vieil|ancien|\blent|manqu|conflit|meur|attend"
    r"|avert"
    r"|aucun|introuv|cass|inconnu|seulement|faible|disparu|\bvide\b|insuff|ennuie|refus|indispon|différent|râle"
    r"|impossible"
    r"|mauvais|s'arrête|goulot|absent|contredit|demande d"
)
"""One of them stands where somebody complains."""
_FINE = lazy(
    r"감사합니다|감사드\w*|덕분에|(?:문제|오류|에러)\S* ?사라졌\S*|더 이상 .{0,12}않\S*|문제 ?없(?:습|어|이)\S*"
    r"|.{0,80}차이(?:가|는|점).{0,80}"
    r"|谢谢|多谢|(?:报错|问题|错误)都?没有了|没有问题|没问题了|可以用了|正常了|不再(?!支持).{0,4}|一切正常|都能正常"
    r"|.{0,80}有什么(?:区别|不同).{0,80}"
    r"|ありがとう\w*|おかげさま|(?:エラー|問題)[はが](?:消え|なくなり)\w*|落ちなく\w*|問題ありません|問題なく"
    r"|ようになりました|直りました|.{0,80}違いは.{0,80}"
    r"|спасибо|благодар\w*|заработал\w*|теперь (?:\S+ ){0,2}работает|больше не пада\w+"
    r"|(?:проблем|ошибк)\w* .{0,30}(?:исчез|пропал)\w*"
    r"|проблем нет|без проблем|вс[её] (?:отлично|работает)|в ч[её]м разница.{0,80}"
    r"|gracias|\bya (?:va|funciona)\b|arreglado|\bya no se \w+|sin problemas?\b|no hay problemas"
    r"|todo (?:perfecto|funciona)"
    r"|desapareció el (?:problema|error)|(?:problema|error)\b.{0,40}desapareció|qué diferencia.{0,80}"
    r"|\bdank(?:e|t)?\b|(?:läuft|klappt|geht) jetzt|jetzt (?:läuft|klappt|geht)|stürzt .{0,20}nicht mehr"
    r"|keine probleme"
    r"|einwandfrei|alles (?:bestens|läuft|gut)|(?:problem|fehler)\w* .{0,30}weg\b|was ist der unterschied.{0,80}"
    r"|\bmerci\b|\bgrâce à|plus de problème|maintenant .{0,20}(?:marche|fonctionne)|ne plante plus|sans souci"
    r"|pas de problème|tout (?:est parfait|marche)|(?:problème|erreur)\b.{0,40}disparu"
    r"|quelle (?:est la )?différence.{0,80}"
)
"""What says that it works: no complaint."""
_SOLVED = lazy(
    r"해결(?:했|됐|되었|됨|완료)|已解决|解决了|问题解决|解決し(?:まし)?た|直りました|\bрешено|\bвс[её] заработало"
    r"|solucionad|\bresuelto"
    r"|quedó arreglado|\bgelöst|\brésolu|\bréglé\b"
)
"""Only with a question mark it still asks something."""
_ASKS = lazy(r"[?？]|吗|ですか|ますか|나요|까요|인가")
_RUN = lazy(r"[\uac00-\ud7a3]+|[\u3040-\u30ff\u3400-\u9fff]+|[\u0400-\u04ff]+|[a-z\u00df-\u024f]+|\d+(?:\.\d+)*")
_BEGINNINGS = (4, 7)
_UNPARTED = "\u3040", "\u9fff"
_SYLLABLES = "\uac00", "\ud7a3"


class Sentences(NamedTuple):
    """The lines of a text that people wrote in one of these languages."""

    language: str
    lines: tuple[Line, ...]


def parts(text: str) -> set[str]:
    """Of a line: the beginnings of its words; of Korean syllables and pairs of them; of Chinese and Japanese pairs."""
    found: set[str] = set()
    for word in _RUN.findall(text.lower()):
        if _SYLLABLES[0] <= word[0] <= _SYLLABLES[1]:
            found.update(word)
            found.update(_pairs(f"<{word}"))
        elif _UNPARTED[0] <= word[0] <= _UNPARTED[1]:
            found.update(_pairs(word) if len(word) > 1 else word)
        else:
            found.update(f"<{word[:length]}" for length in _BEGINNINGS)
    return found


def _pairs(word: str) -> Iterator[str]:
    return (word[at : at + 2] for at in range(len(word) - 1))


def language_of(text: str) -> str:
    """The language of a line of prose; '' for English, for any other and for what a program prints."""
    if not text.isascii():
        for language, letters in _SCRIPTS.items():
            if len(letters.findall(text)) >= _LETTERS:
                return language
    wording = text.lower()
    counts = {language: len(set(words.findall(wording))) for language, words in _LATIN.items()}
    language = max(counts, key=lambda name: counts[name])
    return language if counts[language] >= _WORDS and counts[language] > len(_ENGLISH.findall(wording)) else ""


def sentences(lines: Sequence[Line]) -> Sentences | None:
    """The lines in one of these languages; None if none of them complains, or if they are about something else."""
    found = [(line, language) for line in lines if (language := language_of(line.text))]
    wording = "\n".join(line.text.lower() for line, _ in found)
    if not found or not _SUBJECT.search(wording) or not _FAILS.search(_FINE.sub(" ", wording)):
        return None
    if _SOLVED.search(wording) and not _ASKS.search(wording):
        return None
    languages = [language for _, language in found]
    most = max(dict.fromkeys(languages), key=languages.count)
    return Sentences(most, tuple(line for line, _ in found))


@lru_cache(maxsize=1)
def model() -> Model:
    """The one that is shipped."""
    return parse(get_data(__package__, FILE) or b"")


def with_english(shares: Sequence[float], lines: Iterable[Line]) -> list[float]:
    """The shares of this model's causes, raised by what the English words of the text say."""
    return combined(shares, model().causes, set().union(*(ranker.terms(line.text) for line in lines)))


def combined(shares: Sequence[float], causes: Sequence[str], terms: Iterable[str]) -> list[float]:
    """The shares of these causes, each times a power of its share by the English ranker; their sum is 1."""
    english = ranker.model()
    vector = english.vector(terms)
    if not vector:
        return list(shares)
    others = dict(zip(english.causes, english.shares(english.scores(vector)), strict=True))
    raised = [
        share * max(others.get(cause, 0.0), _LEAST) ** _WEIGHT for share, cause in zip(shares, causes, strict=True)
    ]
    whole = sum(raised)
    return [share / whole for share in raised]


def chance(share: float) -> float:
    """The probability of a cause with such a share; with at most a middling one, nothing is called sound or likely."""
    return min(probability(model().about["calibration"], share), MOST)


def is_ranked_here(s: Snapshot) -> bool:
    """Whether the causes of a text come from its sentences in one of these languages."""
    return any(symptom.id == ID for symptom in s.symptoms)


def ranked(lines: Sequence[Line]) -> tuple[tuple[Ranked, ...], Symptom] | None:
    """The causes that such sentences make likely, likeliest first, and the symptom that stands for them."""
    written = sentences(lines)
    if written is None:
        return None
    by_line = [(line, parts(line.text)) for line in written.lines]
    ranks, vector = ranker.ranked_by(model(), by_line, lines, lambda shares: with_english(shares, lines))
    if not vector:
        return None
    return ranks, _symptom(written, ranks)


def _symptom(written: Sentences, ranks: Iterable[Ranked]) -> Symptom:
    likely = [one for one in ranks if one.cause != NOTHING and chance(one.share) >= _WORTH_TELLING]
    line = next((one.line for one in likely if one.line), written.lines[0].number)
    text = next(one.text for one in written.lines if one.number == line)
    means = f"a sentence in {written.language}"
    return Symptom(id=ID, line=line, text=text.strip()[:300], means=means, suggests=tuple(one.cause for one in likely))
