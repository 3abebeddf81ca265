// The run of a cluster that real clients are using now: how it stands, and the way to its newest step.

import { attr, press, text } from "../dom/dom.js";

/** @import { App } from "../../types/app" */
/** @import { Growth } from "../../types/page" */

export class Live {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.element = press("", () => this.goToNewest());
    this.element.className = "kv-live";
    for (const name of ["live", "following"]) app.hear(name, () => app.draw());
    /** @param {Growth} told */
    const heard = (told) => app.guard(() => told?.do === "grow" && app.lengthen(told));
    app.model.on("msg:custom", heard);
    app.heard.push(["msg:custom", heard]);
  }

  get isNewest() {
    const { app } = this;
    return app.line.id === 0 && app.at === app.last;
  }

  /** Whether the reader looks at the cluster's present, and can act on it. */
  get isNow() {
    return this.isNewest && this.app.model.get("following");
  }

  draw() {
    const { app, isNewest } = this;
    const newer = app.lines.get(0).last - (app.line.id === 0 ? app.at : Math.min(app.at, app.line.at));
    const going = app.model.get("following");
    text(this.element, `${going ? "\u25cf live" : "\u25cb not live"}: ${app.model.get("live")}${isNewest ? "" : ` \u00b7 ${newer} newer \u2192`}`);
    attr(this.element, "title", isNewest ? "the newest step of the clients" : "Go to the newest step (End). What you choose here makes a branch without the clients.");
    this.element.disabled = isNewest;
  }

  goToNewest() {
    const main = this.app.lines.get(0);
    this.app.follow(main, main.last);
  }
}
