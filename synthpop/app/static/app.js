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

  document.addEventListener("click", function (event) {
    const element = event.target.closest("button[data-send]");
    if (element && !element.disabled) send(base(element));
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
  });

  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (!form.dataset.send) return;
    event.preventDefault();
    send({ ...base(form), entries: entriesOf(form) });
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

  /* A part that is rendered anew keeps the place of the keyboard and what was typed. */
  let focused = null;
  let typed = {};
  $(document).on("shiny:value", function () {
    const element = document.activeElement;
    focused = element && element.id ? element.id : focused;
    for (const field of document.querySelectorAll("form[data-send] [name]")) {
      if (field.id) typed[field.id] = field.type === "checkbox" ? field.checked : field.value;
    }
    for (const more of document.querySelectorAll("details[id]")) typed[more.id] = more.open;
    setTimeout(restore, 0);
  });
  function restore() {
    for (const [id, value] of Object.entries(typed)) {
      const field = document.getElementById(id);
      if (!field) continue;
      if (field.tagName === "DETAILS") field.open = value;
      else if (field.closest("form[data-send]")) {
        if (field.type === "checkbox") field.checked = value;
        else if (field.dataset.fresh === undefined) field.value = value;
      }
    }
    typed = {};
    if (focused && document.activeElement === document.body) {
      const element = document.getElementById(focused);
      if (element) element.focus({ preventScroll: true });
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
    const timer = setInterval(function () {
      fetch("alive", { cache: "no-store" }).then(function (answer) {
        if (answer.ok) {
          clearInterval(timer);
          location.reload();
        }
      }).catch(function () { /* still away */ });
    }, 1500);
  });

  Shiny.addCustomMessageHandler("tab", function (message) {
    sessionStorage.setItem(KEY, message.key);
    limit = message.limit;
  });
  Shiny.addCustomMessageHandler("language", function (message) {
    document.documentElement.lang = message.language;
    document.title = message.title;
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
