// The bundler takes a style sheet in as a text.
declare module "*.css" {
  const text: string;
  export default text;
}
