import FoundationEssentials
import JSONRPC
package import Testing

/// Checks the JSON form of a value: the value is written as `json`, and read from it.
///
/// The order of members and white space do not matter. A missing member differs from `null`, and 1
/// from 1.0.
///
/// ```swift
/// checkWire(FlowGet(flow: FlowID("flw_1")), #"{"flow":"flw_1"}"#)
/// ```
package func checkWire<Value: Codable & Equatable>(
  _ value: Value, _ json: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  do {
    let written = try JSONEncoder().encode(value)
    let isAlike = try JSONValue(parsing: [UInt8](written)) == JSONValue(parsing: json)
    if !isAlike {
      let text = String(decoding: written, as: UTF8.self)
      Issue.record("the value is encoded as \(text)", sourceLocation: sourceLocation)
    }
    let read = try JSONDecoder().decode(Value.self, from: Data(json.utf8))
    #expect(read == value, "the JSON is decoded as another value", sourceLocation: sourceLocation)
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
}
