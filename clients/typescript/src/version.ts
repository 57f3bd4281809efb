/** The version of this package, which every call tells the server (C10). */
export const VERSION = "0.1.0";
