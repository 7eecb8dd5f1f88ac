import JSONRPC

/// Which calls are made again after a lost connection (RPC.md § Transport).
enum Repeating {
  /// Reading twice, or doing twice what is the same done once.
  ///
  /// A method that is not here is made once: a new one has to earn its place.
  private static let harmless: Set<String> = [
    "rpc.discover", "system.status", "provider.list", "provider.get", "provider.check",
    "account.list", "account.get", "token.list", "credential.list", "credential.set",
    "confirm.list", "flow.get", "flow.list", "flow.wait", "flow.cancel",
  ]

  static func isSafe(_ method: String, _ params: JSONValue) -> Bool {
    switch method {
    case "flow.start": params["requestId"]?.stringValue != nil
    case "token.get": params["forceRefresh"]?.boolValue != true
    default: harmless.contains(method)
    }
  }
}
