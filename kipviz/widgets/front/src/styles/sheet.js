// The style sheet of the page, as one text: a saved page allows this one by its hash, and no other.

import cards from "./cards.css";
import narrow from "./narrow.css";
import css from "./style.css";
import paper from "./print.css";
import tools from "./tools.css";
import trail from "./why.css";

export const sheet = css + narrow + cards + tools + trail + paper;
