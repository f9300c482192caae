export { Approvals, Client, connect, Core, CoreCommands, Feed, Frames, GalleyError, Llms, Project, Projects, readOnly, Runtimes, Session, Sessions, Stream, Watch } from "./dist/index.js";
