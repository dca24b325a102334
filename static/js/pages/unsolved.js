// The page of a Function that was not called yet: text to take along that says how it is called.

import { copying } from "../share/clipboard.js";

copying();
