import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@Suite("Descriptions of the flows")
struct FlowDocumentationTests {
  private let descriptions = ProviderRegistry.descriptions

  @Test("each parameter and each result member of a flow has a description")
  func described() {
    for flow in descriptions {
      let name = "\(flow.providerType) \(flow.mode ?? "") \(flow.kind)"
      #expect(flow.params.undescribed("\(name) params") == [])
      #expect(flow.result.undescribed("\(name) result") == [])
    }
  }

  @Test("every flow of every variety of provider has exactly one description")
  func complete() {
    let count = ProviderVariety.allCases.map { ProviderRegistry.flows(of: $0).count }.reduce(0, +)
    let names = descriptions.map { [$0.providerType, $0.mode ?? "", $0.kind] }
    #expect(Set(names).count == count && names.count == count)
  }

  @Test("the description of the member type in provider.get's reply names every provider type")
  func types() throws {
    let description = try #require(ProviderGet.Reply.memberDescriptions["type"])
    for type in ProviderType.allCases { #expect(description.contains("`\(type.rawValue)`")) }
  }

  @Test("each flow accepts the parameters of its example, and the example's result fits the schema")
  func examples() throws {
    for variety in ProviderVariety.allCases {
      for type in ProviderRegistry.flows(of: variety) { try check(type) }
    }
  }

  private func check<Machine: FlowMachine>(_ type: Machine.Type) throws {
    let (params, example) = (Machine.Params.self, Machine.example)
    _ = try StrictDecoding.decode(
      params, from: example.params, schema: StrictDecoding.schema(of: params))
    let schema = StrictDecoding.documentedSchema(of: params)
    #expect(schema.complaints(about: example.params, at: "params") == [], "\(type)")
    let result = Schema.object(Machine.resultMembers)
    #expect(result.complaints(about: example.result, at: "result") == [], "\(type)")
  }
}
