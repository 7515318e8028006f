for (const button of document.querySelectorAll("button.copy")) {
  const text = button.previousElementSibling;
  button.hidden = false;
  button.addEventListener("click", () => {
    const range = document.createRange();
    range.selectNodeContents(text);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    document.execCommand("copy");
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
const unfolded = (text) => {
  const names = [];
  for (const [, head, ranges, tail] of text.matchAll(/([\w.-]*)\[(\d[\d,-]*)\]([\w.-]*)/g)) {
    for (const range of ranges.split(",")) {
      const [first, last = first] = range.split("-");
      for (let n = Number(first); n <= Number(last) && names.length < 200000; n += 1) {
        names.push(head + String(n).padStart(first.length, "0") + tail);
      }
    }
  }
  return `${text} ${names.join(" ")}`.toLowerCase();
};
for (const box of document.querySelectorAll("input.filter")) {
  const table = box.parentElement.nextElementSibling;
  const rows = [...table.querySelectorAll("tbody tr")];
  const texts = rows.map((row) => unfolded(row.textContent));
  const said = box.nextElementSibling;
  box.hidden = false;
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      row.hidden = !words.every((word) => texts[at].includes(word));
      if (!row.hidden) shown += 1;
    });
    said.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
}
