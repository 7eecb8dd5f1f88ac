package import JSONRPC

extension JSONValue {
  package var text: String { String(decoding: encoded(), as: UTF8.self) }

  /// The kind of a flow's step; nil at its end.
  package var stepType: String? { self["step"]?["type"]?.stringValue }

  /// The page of a flow's `openURL` step.
  package var url: String { self["step"]?["url"]?.stringValue ?? "" }
}
