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
for (const box of document.querySelectorAll("input.filter")) {
  const table = box.parentElement.nextElementSibling;
  const rows = [...table.querySelectorAll("tbody tr")];
  const said = box.nextElementSibling;
  box.hidden = false;
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown += 1;
    }
    said.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
}
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not(.facts)")) folded.open = true;
});
