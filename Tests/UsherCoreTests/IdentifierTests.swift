import FoundationEssentials
import Testing
import UsherCore
import UsherTestKit

@Suite("Identifiers")
struct IdentifierTests {
  @Test("An id is a plain string in JSON and in print")
  func plain() {
    checkWire([FlowID("flw_1")], #"["flw_1"]"#)
    checkWire([AccountID("acc_1")], #"["acc_1"]"#)
    checkWire([ProviderName("work")], #"["work"]"#)
    checkWire([CorrelationID("cor_1")], #"["cor_1"]"#)
    #expect("\(FlowID("flw_1"))" == "flw_1")
  }

  @Test("A number is no id")
  func number() {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([FlowID].self, from: Data("[1]".utf8))
    }
  }
}

@Suite("Chance")
struct EntropyTests {
  @Test("The machine's source gives as many bytes as asked, each time others")
  func machine() {
    let source = SystemEntropy()
    #expect(source.bytes(0).isEmpty)
    #expect(source.bytes(32).count == 32)
    #expect(source.bytes(32) != source.bytes(32))
    #expect(Set(source.bytes(4096)).count > 200)
  }
}
