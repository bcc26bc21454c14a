/** Folder for Node's compile cache of the programs and threads that tests start. Compiling takes half of a start. */
import { join } from 'node:path';

/** Persistent folder. Node detects outdated entries. */
export const compileCache = join(import.meta.dirname, '../../node_modules/.cache/compiled');
