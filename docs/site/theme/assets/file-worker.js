// A worker for pages that are opened as files, where browsers start none: its script runs in a hidden frame and exchanges the same messages. The theme's search
// asks for a class of this name, and then takes its index from a script instead of fetching it.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...urls) =>
        urls.reduce((before, url) => before.then(() => this.load(url)), Promise.resolve());
      this.ready = this.load(url);
    }

    load(url) {
      const script = this.frame.contentDocument.createElement("script");
      return new Promise((done, failed) => {
        script.onload = done;
        script.onerror = failed;
        script.src = url;
        this.frame.contentDocument.body.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
