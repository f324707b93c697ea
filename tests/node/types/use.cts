import grove = require("grove-sessions");

const session: grove.Session = grove.create();
const name: string | null = session.name;
export = name;
