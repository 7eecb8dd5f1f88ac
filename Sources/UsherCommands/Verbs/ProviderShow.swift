import ArgumentParser
import UsherClient

struct ProviderShowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show a provider's flows and their parameters.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: ProviderName

  func run(at context: CommandContext) async throws {
    try await context.show(ProviderGet(provider: name)) { provider in
      context.console.printProperties([("provider", "\(provider.name)"), ("type", provider.type)])
      for flow in provider.flows {
        context.console.print("")
        context.console.print("\(flow.kind): \(flow.summary)")
        context.console.table(["  PARAM", "TYPE", "REQUIRED"], flow.rows)
      }
    }
  }
}

extension ProviderGet.Flow {
  /// The rows of the table of the flow's parameters, from their JSON Schema. A member of an object
  /// has a dotted name.
  fileprivate var rows: [[String]] { Self.rows(of: params, under: [], needed: "yes") }

  /// Returns the rows of a schema.
  ///
  /// - Parameter needed: The text in the column `needed` for a member that the enclosing object
  ///   requires.
  private static func rows(
    of schema: JSONValue, under path: [String], needed: String
  ) -> [[String]] {
    let required = schema["required"]?.arrayValue ?? []
    let properties = schema["properties"]?.objectValue ?? [:]
    return properties.sorted { $0.key < $1.key }.flatMap { name, schema in
      let isRequired = required.contains(.string(name))
      let path = path + [name]
      let full = path.joined(separator: ".")
      let row = [
        "  \(full)", schema["type"]?.stringValue ?? "any", isRequired ? needed : "no",
      ]
      return [row] + rows(of: schema, under: path, needed: isRequired ? needed : "in \(full)")
    }
  }
}
