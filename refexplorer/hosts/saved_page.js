
// What is in the page is compressed, so that no text of a set is ever read as HTML or as script.
const unpacked = (id) => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (byte) => byte.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
};
const module = async (id) => {
  const text = new Blob([await unpacked(id).arrayBuffer()], { type: "text/javascript" });
  return import(URL.createObjectURL(text));
};
const waiting = document.getElementById("waiting");
try {
  const [view, saved, content] = [module("view"), module("saved"), unpacked("content").arrayBuffer()];
  const page = document.createElement("div");
  page.id = "page";
  (await saved).open(await content, await view, page);
  waiting.replaceWith(page);
} catch (error) {
  waiting.setAttribute("role", "alert");
  waiting.textContent = `This browser cannot show the page: ${error}. It takes one of 2023 or later.`;
}
