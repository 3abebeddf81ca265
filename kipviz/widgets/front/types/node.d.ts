// The tests' own modules, which node brings along; their types are not worth a package.
declare module "node:assert/strict";
declare module "node:test";
declare module "node:module";
