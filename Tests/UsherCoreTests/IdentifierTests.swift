import FoundationEssentials
import Testing
import UsherCore
import UsherTestKit

@Suite("Identifiers")
struct IdentifierTests {
  @Test("an Identifier is a plain string in JSON and in print")
  func plain() {
    checkWire([FlowID("flw_1")], #"["flw_1"]"#)
    checkWire([AccountID("acc_1")], #"["acc_1"]"#)
    checkWire([ProviderName("work")], #"["work"]"#)
    checkWire([CorrelationID("cor_1")], #"["cor_1"]"#)
    #expect("\(FlowID("flw_1"))" == "flw_1")
  }

  @Test("a JSON number is not decoded as an id")
  func number() {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([FlowID].self, from: Data("[1]".utf8))
    }
  }
}

@Suite("System entropy")
struct EntropyTests {
  @Test("the system's entropy returns the requested number of bytes, different each time")
  func machine() {
    let source = SystemEntropy()
    #expect(source.bytes(0).isEmpty)
    #expect(source.bytes(32).count == 32)
    #expect(source.bytes(32) != source.bytes(32))
    #expect(Set(source.bytes(4096)).count > 200)
  }
}
