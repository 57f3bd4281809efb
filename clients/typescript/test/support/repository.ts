/** Where the tests find what they share with every other client. */

import { fileURLToPath } from "node:url";

/** Root of this package, seen from the compiled tests in build/test/support. */
export const PACKAGE = fileURLToPath(new URL("../../../", import.meta.url));

/** Root of the repository. */
export const REPOSITORY = fileURLToPath(new URL("../../../../../", import.meta.url));
