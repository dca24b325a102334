// The live figure of the front page. It keeps no address: the page of its Function does.

import { soleFigure } from "../figure/live_figure.js";
import { afterFirstPaint, loadPlotly } from "../figure/plot.js";
import { askServer } from "../state/question.js";
import { Session } from "../state/session.js";

const session = new Session(askServer, "");
soleFigure(session, { load: () => afterFirstPaint().then(() => loadPlotly("curves")) });
session.start();
