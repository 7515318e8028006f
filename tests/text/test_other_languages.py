"""Sentences in Korean, Chinese, Japanese, Russian, Spanish, German and French: ranked, never proven, answered in English."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from benchmarks.cases import CASES, load_cases, renderer
from doctor.commands.assess import known_ids
from doctor.text import read
from doctor.text.clean import lines_of
from doctor.text.other_languages import ID, MOST, language_of, sentences
from doctor.text.ranker import NOTHING

from ..judging import report
from ..rows import for_each

DATA = Path(__file__).parents[2] / "benchmarks" / "cases" / "sentences"
LANGUAGES = {"de", "es", "fr", "ja", "ko", "ru", "zh"}
ORDER = ["Korean", "Chinese", "Japanese", "Russian", "Spanish", "German", "French"]
SICK = {
    "kernel-module-not-built-for-kernel": (
        "커널을 새로 올린 뒤 엔비디아 드라이버가 죽었습니다",
        "更新内核以后英伟达驱动不工作了",
        "カーネルを上げたら NVIDIA のドライバが動かなくなりました",
        "Обновилось ядро, и драйвер nvidia больше не стартует",
        "Después de cambiar de kernel el driver de nvidia no arranca",
        "Neuer Kernel, und der nvidia-Treiber startet nicht mehr",
        "Nouveau noyau installé et le pilote nvidia ne démarre plus",
    ),
    "cpu-only-torch": (
        "파이토치가 +cpu 버전으로 깔려서 GPU를 못 씁니다",
        "装上的 torch 是 +cpu 的,显卡用不了",
        "入った torch が +cpu で、GPU が使えない",
        "Поставился torch с +cpu, видеокарту не использует",
        "Se instaló torch +cpu y no usa la tarjeta",
        "Es wurde torch +cpu installiert, die Karte wird nicht benutzt",
        "C'est torch +cpu qui est installé, la carte n'est pas utilisée",
    ),
    "torch-lacks-new-gpu-sm": (
        "5060 Ti를 새로 달았는데 토치가 이 카드를 지원하지 않는대요",
        "新装的 5060 Ti,torch 说不支持这张卡",
        "新しい 5060 Ti に torch が対応していないと言われました",
        "Новая 5060 Ti, torch пишет, что эта карта не поддерживается",
        "Tengo una 5060 Ti nueva y torch dice que esa tarjeta no está soportada",
        "Neue 5060 Ti, torch meint, diese Karte wird nicht unterstützt",
        "Nouvelle 5060 Ti, torch dit que cette carte n'est pas prise en charge",
    ),
    "shm-too-small": (
        "도커 공유 메모리가 모자라서 num_workers를 못 올립니다",
        "容器共享内存太小,num_workers 开不大",
        "docker の共有メモリが足りず num_workers を増やせない",
        "В докере мало разделяемой памяти, num_workers не поднять",
        "La memoria compartida de docker no llega y no puedo subir num_workers",
        "Der gemeinsame Speicher in docker reicht nicht für mehr num_workers",
        "La mémoire partagée de docker ne suffit pas pour plus de num_workers",
    ),
    "container-no-gpu-flag": (
        "내 컨테이너에서 GPU가 보이지 않아요",
        "我的容器里看不到显卡",
        "自分のコンテナから GPU が見えません",
        "Мой контейнер не видит видеокарту",
        "Mi contenedor no ve la tarjeta gráfica",
        "Mein Container sieht die Grafikkarte nicht",
        "Mon conteneur ne voit pas la carte graphique",
    ),
}
"""Of each language one, none of them in the data."""
ASKED = {
    "gpudoctor check --target docker:NAME": SICK["container-no-gpu-flag"],
    "gpudoctor fit --params 7B --gpus 'RTX 4090'": (
        "GPU 메모리가 부족해서 7B 모델이 4090에 안 올라가요",
        "显存不足,4090 跑 7B 模型",
        "メモリ不足で 4090 に 7B モデルが載らない",
        "Не хватает памяти на 4090 для модели 7B",
        "sin memoria en la 4090 con un modelo 7B",
        "zu wenig Grafikspeicher auf der 4090 für ein 7B-Modell",
        "pas assez de mémoire sur la 4090 pour un modèle 7B",
    ),
    "gpudoctor resolve --gpu 'RTX 5090'": (
        "5090에 어떤 torch 버전을 설치하나요?",
        "5090 装哪个 torch 版本?",
        "5090 にはどの torch を入れますか",
        "какой torch нужен для 5090?",
        "¿qué torch instalo para una 5090?",
        "welche torch-Version brauche ich für eine 5090?",
        "quel torch pour une 5090 ?",
    ),
    "gpudoctor watch -- python train.py": (
        "내 파드의 GPU 학습이 CPU 때문에 느린가요?",
        "训练很慢,是 CPU 的问题吗?GPU 利用率低",
        "学習が遅いのは CPU のせいですか? GPU 使用率が低い",
        "обучение медленное, GPU простаивает, дело в процессоре?",
        "el entrenamiento va muy lento, la GPU espera",
        "ist mein pod langsam wegen der CPU? die GPU wartet",
        "l'entraînement est très lent, le GPU attend",
    ),
}
SOUND = (
    "새 드라이버를 깔았더니 GPU가 잘 됩니다, 감사합니다",
    "토치로 이미지 분류를 배우고 싶은데 어디서 시작할까요?",
    "换了新驱动,GPU 可以用了,谢谢",
    "想用 torch 学图像分类,从哪里开始?",
    "ドライバを入れ替えたら GPU が使えるようになりました",
    "torch で画像分類を学びたいのですが、何から始めますか",
    "Поставил новый драйвер, GPU заработал, спасибо",
    "Хочу изучать torch, с чего начать?",
    "Con el driver nuevo la GPU ya funciona, gracias",
    "Quiero aprender torch, ¿por dónde empiezo?",
    "Mit dem neuen Treiber läuft die GPU jetzt, danke",
    "Ich möchte torch lernen, womit fange ich an?",
    "Avec le nouveau pilote le GPU marche maintenant, merci",
    "Je veux apprendre torch, par où commencer ?",
    "오늘은 날씨가 좋지 않네요",
    "今天天气不好",
    "今日は天気がよくない",
    "Сегодня плохая погода, гулять не пойдём",
    "Hoy no hace buen tiempo y el perro no quiere salir",
    "Heute ist das Wetter nicht gut und der Hund will nicht raus",
    "Aujourd'hui il ne fait pas beau et le chien ne veut pas sortir",
)


@cache
def data() -> dict[str, dict[str, list[str]]]:
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(DATA.glob("*.toml"))}


@for_each("cause", SICK)
def test_a_complaint_in_each_language_ranks_its_cause_first_and_proves_nothing(cause: str) -> None:
    known = {text for causes in data().values() for texts in causes.values() for text in texts}
    for text in SICK[cause]:
        assert text not in known
        found = report(read(text))
        assert found.text is not None and found.text.possible, text
        assert found.text.possible[0].id == cause, (text, found.text.possible)
        assert 0.1 <= found.text.possible[0].probability <= MOST
        assert (found.verdict, found.likely) == ("unknown", "") and found.needs, text
        assert not [f for f in found.findings if f.status in ("fail", "warn")], text


@for_each("command", ASKED)
def test_plain_questions_have_the_command_that_decides_them(command: str) -> None:
    for text in ASKED[command]:
        found = report(read(text)).text
        assert found is not None and found.answers and found.answers[0].command == command, text


@for_each("text", SOUND)
def test_a_sentence_that_reports_no_fault_makes_no_cause_likely(text: str) -> None:
    found = report(read(text))
    assert found.verdict == "unknown" and found.text is not None
    assert not [one for one in found.text.possible if one.probability > 0.3], found.text.possible


def test_each_language_is_told_from_the_others_and_from_english() -> None:
    for texts in SICK.values():
        assert [language_of(text) for text in texts] == ORDER
    render = renderer(CASES)
    assert not [case["id"] for case in load_cases(CASES)[::5] if sentences(lines_of(render(case)))]


def test_what_a_program_prints_decides_where_it_is_there() -> None:
    text = "내 컨테이너에서 GPU가 보이지 않아요\nFailed to initialize NVML: Driver/library version mismatch"
    found = report(read(text))
    assert [f.id for f in found.findings if f.status == "fail"] == ["driver-library-version-mismatch"]
    assert ID not in {x.id for x in read(text).symptoms}


def test_facts_strike_causes_off() -> None:
    alone, beside = (
        "나의 5060 Ti를 torch가 지원하지 않는대요",
        "torch 2.9.0+cu128, RTX 5060 Ti\n나의 5060 Ti를 torch가 지원하지 않는대요",
    )
    causes = [[one.id for one in found.text.possible] for text in (alone, beside) if (found := report(read(text))).text]
    assert "torch-lacks-new-gpu-sm" in causes[0] and "torch-lacks-new-gpu-sm" not in causes[1]


def test_the_data_has_ten_sentences_for_each_cause_in_each_language() -> None:
    assert {*data()} == LANGUAGES
    for language, causes in data().items():
        assert {*causes} == {*data()["de"]} and {*causes} <= {*known_ids(), NOTHING}, language
        assert len(causes[NOTHING]) >= 15 and {len(causes[name]) for name in causes if name != NOTHING} == {10}, (
            language
        )
        texts = [text for name in causes for text in causes[name]]
        assert len(texts) == len({*texts}), language


def six_words(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + 6]) for at in range(len(words) - 5)}


def test_no_sentence_shares_six_words_in_a_row_with_a_case() -> None:
    ours = {
        six: text
        for causes in data().values()
        for texts in causes.values()
        for text in texts
        for six in six_words(text)
    }
    render = renderer(CASES)
    shared = {ours[six] for case in load_cases(CASES) for six in six_words(render(case)) & ours.keys()}
    assert not shared


@pytest.mark.slow
@pytest.mark.train
def test_the_file_ranks_the_sentences_as_a_new_build_of_them_does() -> None:
    from training.other_languages import faults

    assert not faults()
