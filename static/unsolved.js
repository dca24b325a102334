// The page of a Function that was not called yet: the form that says how, and text to take along.

import { copying } from "./copied.js";
import "./recipe.js";

copying();
