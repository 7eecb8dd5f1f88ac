import ArgumentParser
import UsherClient

struct RPCVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "rpc", abstract: "Call any method and print its result as JSON.",
    discussion: """
      The params are a JSON object; - reads them from standard input, which keeps secrets out of \
      the process list. The result may contain secrets.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The method, such as system.status.")
  var method: String

  @Argument(help: "The params as JSON.")
  var params: String?

  @Flag(help: "Call on the admin socket.")
  var admin = false

  func run(at context: CommandContext) async throws {
    var text = params ?? "{}"
    if text == "-" {
      let bytes = try await context.console.readAll(limit: JSONLimits().lineBytes)
      text = String(decoding: bytes, as: UTF8.self)
    }
    let client = admin ? context.admin : context.app
    let result = try await client.call(method, params: try JSONValue(argument: text))
    context.console.json(result.encoded())
  }
}

extension JSONValue {
  /// Parses JSON from an argument.
  ///
  /// - Throws: ``CommandFailure`` that names the place at which the text stops being JSON.
  init(argument text: String) throws {
    do {
      try self.init(parsing: text)
    } catch {
      throw CommandFailure("the params are not JSON: \(error)", status: .usage)
    }
  }
}
