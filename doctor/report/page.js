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
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not(.facts)")) folded.open = true;
});
