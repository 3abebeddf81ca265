// What the page's own functions make of the browser's types, and what the page keeps at its own nodes.
// SPDX-License-Identifier: Apache-2.0
import type { Keyed } from "../src/dom/dom.js";
import type { Head, Item, Lane, RowInfo, Step, VerdictInfo } from "./payload";

type TagOf<Kind extends string> = Kind extends `${infer Tag}.${string}` ? Tag : Kind;

/** The element that `h` makes of a tag with its classes. */
export type HtmlOf<Kind extends string> = TagOf<Kind> extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[TagOf<Kind>] : HTMLElement;

/** The element that `s` makes of a tag with its classes. */
export type SvgOf<Kind extends string> = TagOf<Kind> extends keyof SVGElementTagNameMap ? SVGElementTagNameMap[TagOf<Kind>] : SVGElement;

export type Child = Node | string | number | null | undefined;

/** A node as `h` and `s` make it. */
export type Drawable = HTMLElement | SVGElement;

/** How a thing stands: its colour, and a sign beside it. */
export type Tone = NonNullable<Step["tone"]>;

/** A listener of a node. Which kind of event it is told, the name of its event says (`On`); a method's parameter may be narrower. */
export type Listener = { listen(event: Event): unknown }["listen"];

/** The listeners of an element by the names of their events. */
export interface On {
  onkeydown?: (event: KeyboardEvent) => unknown;
  onpointerdown?: (event: PointerEvent) => unknown;
  onpointermove?: (event: PointerEvent) => unknown;
}

/** An attribute's value (null and false: none), or the listener of an `on…`. */
export type Prop = string | number | boolean | null | undefined | Listener;

export interface Props extends On {
  [name: string]: Prop;
}

/** The props of an element, which may be left out, and what is in it. */
export type Rest = Array<Props | Child>;

/** Runs something, and says on the page what goes wrong in it. */
export interface Guard {
  guard<Made>(act: () => Made): Made | undefined;
}

/** The parts of a choice's button. */
export interface ChoiceParts {
  button: HTMLButtonElement;
  kbd: HTMLElement;
  what: HTMLElement;
  about: HTMLElement;
  under: HTMLElement;
  tag: HTMLElement;
}

declare global {
  interface Document {
    /** How many frames this page has made. */
    kvMade?: number;
  }
  // Each of these is at the nodes of one list, whose file writes and reads it.
  interface Element {
    kvRow?: RowInfo;
    kvNew?: boolean;
    kvCells?: Keyed<RowInfo, HTMLDivElement>;
    kvVerdict?: Pick<VerdictInfo, "property" | "state" | "sentence">;
    kvLane?: Lane;
    kvLaid?: string;
    kvHead?: Head;
    kvParts?: ChoiceParts;
    kvItem?: Item;
    kvDrawn?: string;
    kvSure?: boolean;
    kvRows?: string;
  }
}
