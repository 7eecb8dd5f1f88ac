package import JSONRPC

extension JSONValue {
  package var text: String { String(decoding: encoded(), as: UTF8.self) }

  /// The type of a flow's step; nil if the flow has ended.
  package var stepType: String? { self["step"]?["type"]?.stringValue }

  /// The page of a flow's `openURL` step.
  package var url: String { self["step"]?["url"]?.stringValue ?? "" }
}
