/** A sentence in one of CodeMirror's tooltips: what Python sets in backquotes set as code. */
export function tip(sentence: string): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "tip";
  sentence.split("`").forEach((part, i) => {
    if (i % 2 === 0) {
      dom.append(part);
      return;
    }
    const code = document.createElement("code");
    code.textContent = part;
    dom.append(code);
  });
  return dom;
}
