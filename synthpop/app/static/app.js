/* The page sends messages; all state is on the server. No library beyond Shiny's own. */
(function () {
  "use strict";
  const KEY = "synthpop-tab";
  let limit = Infinity;
  let counter = 0;

  function send(message) {
    counter += 1;
    Shiny.setInputValue("message", { ...message, counter: counter }, { priority: "event" });
  }

  function base(element) {
    return JSON.parse(element.dataset.send);
  }

  function withValue(message, argument, value) {
    const place = message.action === "choose" ? "values" : "arguments";
    return { ...message, [place]: { ...message[place], [argument]: value } };
  }

  function entriesOf(form) {
    const entries = {};
    for (const field of form.querySelectorAll("[name]")) {
      if (field.dataset.many !== undefined) {
        entries[field.name] = entries[field.name] || [];
        if (field.checked) entries[field.name].push(field.value);
      } else if (field.type === "checkbox") {
        entries[field.name] = field.checked;
      } else if (field.value !== "") {
        entries[field.name] = field.value;
      }
    }
    return entries;
  }

  /* A busy button keeps the keyboard and does nothing. */
  function isBusy(element) {
    return element !== null && element.getAttribute("aria-disabled") === "true";
  }

  document.addEventListener("click", function (event) {
    const element = event.target.closest("button[data-send]");
    if (element && !isBusy(element)) send(base(element));
  });

  /* A press that began on a button counts, also where the page has moved beneath the pointer. */
  let press = null;
  document.addEventListener("pointerdown", function (event) {
    press = { button: event.target.closest("button"), x: event.clientX, y: event.clientY };
  });
  document.addEventListener("pointerup", function (event) {
    const still = press && Math.hypot(event.clientX - press.x, event.clientY - press.y) < 5;
    if (still && press.button && !press.button.contains(event.target)) press.button.click();
    press = null;
  });

  document.addEventListener("change", function (event) {
    const element = event.target;
    if (element.dataset.upload) {
      upload(element);
      return;
    }
    const records = element.closest("[data-records]");
    if (records && element.parentElement.parentElement === records) {
      for (const one of records.querySelectorAll(":scope > [data-record]")) {
        one.hidden = one.dataset.record !== element.value;
      }
    }
    if (!element.dataset.send || element.tagName === "FORM") return;
    let value = element.type === "checkbox" ? element.checked : element.value;
    if (element.type === "number") value = value === "" ? null : Number(value);
    send(withValue(base(element), element.dataset.argument || "value", value));
    if (element.dataset.clear !== undefined) element.value = "";
  });

  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (!form.dataset.send) return;
    event.preventDefault();
    if (!isBusy(event.submitter)) send({ ...base(form), entries: entriesOf(form) });
  });

  /* A form that shows its effect beforehand sends what it holds, a moment after each change. */
  let trying = 0;
  document.addEventListener("input", function (event) {
    const form = event.target.closest("form[data-try]");
    if (!form) return;
    clearTimeout(trying);
    trying = setTimeout(function () {
      if (form.isConnected) send({ ...JSON.parse(form.dataset.try), entries: entriesOf(form) });
    }, 350);
  });

  /* Class limits: a click into the histogram sets or takes away one, a slider moves one. */
  function limitsOf(entry) {
    return entry.value.split(",").map((one) => one.trim()).filter((one) => one !== "");
  }

  function setLimits(entry, limits) {
    const rank = (one) => one === "inf" ? Infinity : one === "-inf" ? -Infinity : Number(one);
    entry.value = [...new Set(limits)].sort((a, b) => rank(a) - rank(b)).join(", ");
    entry.dispatchEvent(new Event("input", { bubbles: true }));
  }

  document.addEventListener("click", function (event) {
    const proposal = event.target.closest("[data-proposal]");
    if (proposal) {
      const entry = document.getElementById(proposal.dataset.entry);
      setLimits(entry, proposal.dataset.proposal.split(", "));
    }
    const picture = event.target.closest("[data-histogram]");
    if (!picture) return;
    const entry = document.getElementById(picture.dataset.histogram);
    const low = Number(picture.dataset.low), high = Number(picture.dataset.high);
    const box = picture.getBoundingClientRect();
    let value = low + (high - low) * (event.clientX - box.left) / box.width;
    value = picture.dataset.whole === "true" ? Math.round(value) : Number(value.toPrecision(3));
    let limits = limitsOf(entry);
    const near = limits.find((one) => Math.abs(Number(one) - value) <= (high - low) / 80);
    if (near !== undefined) limits = limits.filter((one) => one !== near);
    else limits.push(String(value));
    if (limits.length === 1 && near === undefined) limits.push(String(low), String(high));
    setLimits(entry, limits);
  });

  document.addEventListener("change", function (event) {
    const slider = event.target;
    if (slider.dataset.limit === undefined) return;
    const entry = document.getElementById(slider.dataset.entry);
    setLimits(entry, limitsOf(entry).map(
      (one) => Number(one) === Number(slider.dataset.limit) ? slider.value : one));
  });

  function upload(input) {
    const file = input.files[0];
    if (!file) return;
    const message = JSON.parse(input.dataset.upload);
    if (file.size > limit) {
      send({ action: "too_large", size: file.size });
      input.value = "";
      return;
    }
    const bar = input.parentElement.querySelector("progress");
    const request = new XMLHttpRequest();
    bar.hidden = false;
    request.upload.addEventListener("progress", (e) => { bar.value = e.loaded / e.total; });
    request.addEventListener("load", function () {
      bar.hidden = true;
      input.value = "";
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch (error) { answer = {}; }
      if (request.status === 200) {
        send({ ...message, arguments: { ...message.arguments, name: file.name, file: answer.file } });
      } else {
        send({ action: "refused", text: answer.text || "" });
      }
    });
    request.addEventListener("error", function () {
      bar.hidden = true;
      input.value = "";
      send({ action: "refused", text: "" });
    });
    request.open("POST", "upload/" + sessionStorage.getItem(KEY));
    request.setRequestHeader("x-name", encodeURIComponent(file.name));
    request.setRequestHeader("content-type", "application/octet-stream");
    request.send(file);
  }

  /* Escape closes what is open: a line of help, else the message, else the editor of a page. */
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") return;
    const open = event.target.closest("details[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
      return;
    }
    const close = document.getElementById("close-notice") || document.querySelector("[data-close]");
    if (close) close.click();
  });

  /* Drag and drop of recoded categories: every item can also be moved by its selection. */
  document.addEventListener("dragstart", function (event) {
    const item = event.target.closest("[draggable=true]");
    if (item) event.dataTransfer.setData("text/plain", item.dataset.level);
  });
  document.addEventListener("dragover", function (event) {
    if (event.target.closest("[data-group]")) event.preventDefault();
  });
  document.addEventListener("drop", function (event) {
    const group = event.target.closest("[data-group]");
    if (!group) return;
    event.preventDefault();
    const message = JSON.parse(group.dataset.drop);
    send({ ...message, level: event.dataTransfer.getData("text/plain"), group: group.dataset.group });
  });

  /* A part of the page is drawn by its differences from the former drawing: what the user has
     typed, opened, focused or pressed stays, and no click falls on an element that is replaced. */
  const drawn = {};

  function parse(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  }

  function keyOf(node) {
    return node.id ? node.nodeName + "#" + node.id : node.nodeName;
  }

  function patchAttributes(live, former, fresh) {
    for (const name of new Set([...former.getAttributeNames(), ...fresh.getAttributeNames()])) {
      const value = fresh.getAttribute(name);
      if (former.getAttribute(name) === value) continue;
      if (value === null) live.removeAttribute(name);
      else live.setAttribute(name, value);
      if (name === "value" && live.tagName === "INPUT") live.value = value || "";
      if (name === "checked" || name === "selected") live[name] = value !== null;
    }
    if (live.tagName === "TEXTAREA" && former.textContent !== fresh.textContent) {
      live.value = fresh.textContent;
    }
  }

  function patchChildren(live, former, fresh) {
    const waiting = {};
    Array.from(former.childNodes).forEach(function (node, place) {
      const key = keyOf(node);
      (waiting[key] = waiting[key] || []).push([live.childNodes[place], node]);
    });
    const pairs = Array.from(fresh.childNodes, (node) => (waiting[keyOf(node)] || []).shift());
    for (const others of Object.values(waiting)) for (const [node] of others) node.remove();
    let next = live.firstChild;
    Array.from(fresh.childNodes).forEach(function (node, place) {
      if (!pairs[place]) {
        live.insertBefore(document.importNode(node, true), next);
        return;
      }
      const [current, before] = pairs[place];
      if (current === next) next = next.nextSibling;
      else live.insertBefore(current, next);
      if (node.nodeType !== Node.ELEMENT_NODE) {
        if (before.data !== node.data) current.data = node.data;
        return;
      }
      patchAttributes(current, before, node);
      patchChildren(current, before, node);
    });
  }

  /* An entry that is sent at once shows the state, also where the app refused what was typed. */
  function showState(place) {
    for (const entry of place.querySelectorAll("input[data-send], select[data-send]")) {
      if (entry === document.activeElement || entry.type === "checkbox") continue;
      if (entry.tagName === "INPUT") entry.value = entry.defaultValue;
      else for (const option of entry.options) option.selected = option.defaultSelected;
    }
  }

  function draw(part, html) {
    const place = document.getElementById("part-" + part);
    const active = document.activeElement;
    const fresh = parse(html);
    patchChildren(place, drawn[part] || parse(""), fresh);
    drawn[part] = fresh;
    showState(place);
    if (active !== document.body && !document.contains(active)) {
      (document.getElementById(active.id) || document.getElementById("main"))
        .focus({ preventScroll: true });
    }
  }

  $(document).on("shiny:connected", function () {
    document.body.classList.remove("lost");
    Shiny.setInputValue("client", { tab: sessionStorage.getItem(KEY) || "",
      language: (navigator.language || "en").slice(0, 2) });
  });

  $(document).on("shiny:disconnected", function () {
    document.body.classList.add("lost");
    const banner = document.getElementById("lost");
    if (banner) banner.hidden = false;
    const again = function () { setTimeout(look, 1500); };  /* one question at a time */
    function look() {
      fetch("alive", { cache: "no-store" }).then(function (answer) {
        if (answer.ok) location.reload();
        else again();
      }).catch(again);
    }
    again();
  });

  Shiny.addCustomMessageHandler("tab", function (message) {
    sessionStorage.setItem(KEY, message.key);
    limit = message.limit;
  });
  Shiny.addCustomMessageHandler("draw", function (message) {
    for (const [part, html] of Object.entries(message.parts)) draw(part, html);
    document.documentElement.lang = message.language;
    for (const [id, text] of Object.entries(message.texts)) {
      document.getElementById(id).textContent = text;
    }
  });
  Shiny.addCustomMessageHandler("download", function (message) {
    const link = document.createElement("a");
    link.href = "files/" + sessionStorage.getItem(KEY) + "/" + encodeURIComponent(message.file);
    link.download = message.file;
    document.body.appendChild(link);
    link.click();
    link.remove();
  });
  Shiny.addCustomMessageHandler("elsewhere", function (message) {
    sessionStorage.removeItem(KEY);
  });
})();
