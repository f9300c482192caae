#!/usr/bin/env node
/** The `galley` command. */

import { native } from "./native.js";

process.exit(native.main(["galley", ...process.argv.slice(2)]));
