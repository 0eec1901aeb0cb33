(() => {
  const vars = [...document.querySelectorAll("details.var")];
  const box = document.querySelector(".vars");
  const tools = document.querySelector(".tools");
  if (tools && box) {
    tools.hidden = false;
    const search = document.getElementById("search");
    const sort = document.getElementById("sort");
    const beyond = document.getElementById("beyond");
    const open = document.getElementById("open");
    const update = () => {
      const text = search.value.toLowerCase();
      for (const v of vars) {
        const named = v.dataset.name.toLowerCase().includes(text);
        v.hidden = !named || (beyond && beyond.checked && !v.dataset.flagged);
      }
    };
    const order = () => {
      const key = sort.value;
      const sorted = [...vars];
      if (key === "name") sorted.sort((a, b) => a.dataset.name.localeCompare(b.dataset.name));
      else if (key) sorted.sort((a, b) => b.dataset[key] - a.dataset[key]);
      box.append(...sorted);
    };
    search.addEventListener("input", update);
    if (beyond) beyond.addEventListener("change", update);
    sort.addEventListener("change", order);
    const words = [open.textContent, open.dataset.close];
    open.addEventListener("click", () => {
      const all = vars.every((v) => v.open);
      vars.forEach((v) => { v.open = !all; });
      open.textContent = all ? words[0] : words[1];
    });
  }
  const show = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    let fold = target && target.closest("details");
    if (!fold) return;
    for (; fold; fold = fold.parentNode.closest("details")) { fold.hidden = false; fold.open = true; }
    target.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();
  const groups = document.documentElement.lang === "de" ? /\./g : /,/g;
  const value = (cell) => {
    const plain = cell.textContent.replace(groups, "").replace(",", ".");
    const text = plain.replace(/[\s%<+\u25b2()]/g, "").replace("\u2212", "-");
    const number = parseFloat(text);
    return isNaN(number) ? cell.textContent : number;
  };
  for (const head of document.querySelectorAll("table:not(.cells) th[scope=col]")) {
    head.tabIndex = 0;
    const sorted = () => {
      const body = head.closest("table").tBodies[0];
      const at = head.cellIndex;
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const x = value(a.cells[at]), y = value(b.cells[at]);
        const c = typeof x === typeof y ? (x > y) - (x < y) : typeof x === "number" ? 1 : -1;
        return down ? -c : c;
      });
      body.append(...rows);
    };
    head.addEventListener("click", sorted);
    head.addEventListener("keydown", (e) => { if (e.key === "Enter") sorted(); });
  }
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));
})();
