import ArgumentParser
import JSONRPC

/// `--param name=value`, as often as needed.
struct NamedParam: ExpressibleByArgument {
  let name: String
  let value: String

  init?(argument: String) {
    guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else { return nil }
    name = String(argument[..<sign])
    value = String(argument[argument.index(after: sign)...])
  }
}

extension JSONValue {
  /// The object with these texts laid over it; what is nil is left out.
  func with(_ texts: [(name: String, value: String?)]) -> JSONValue {
    var object = self
    for (name, value) in texts {
      if let value { object[name] = .string(value) }
    }
    return object
  }
}
