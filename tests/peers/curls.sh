# Requests that people have in their notes. test_curl.py sends each of them as it stands here.

curl http://localhost:8080/v1/chat/completions \
  -H "Content-Type: application/json" \
  -d '{
    "model": "gpt-3.5-turbo",
    "tools": [{
          "type": "function",
          "function": {
              "name": "get_current_weather",
              "description": "Get the current weather",
              "parameters": {
                  "type": "object",
                  "properties": {
                      "location": {
                          "type": "string",
                          "description": "The city and state, e.g. San Francisco, CA"
                      },
                      "format": {
                          "type": "string",
                          "enum": ["celsius", "fahrenheit"],
                          "description": "The temperature unit to use. Infer this from the users location."
                      }
                  },
                  "required": ["location", "format"]
              }
          }
      }, {
          "type": "function",
          "function": {
              "name": "get_n_day_weather_forecast",
              "description": "Get an N-day weather forecast",
              "parameters": {
                  "type": "object",
                  "properties": {
                      "location": {
                          "type": "string",
                          "description": "The city and state, e.g. San Francisco, CA"
                      },
                      "format": {
                          "type": "string",
                          "enum": ["celsius", "fahrenheit"],
                          "description": "The temperature unit to use. Infer this from the users location."
                      },
                      "num_days": {
                          "type": "integer",
                          "description": "The number of days to forecast"
                      }
                  },
                  "required": ["location", "format", "num_days"]
              }
          }
      }],
    "messages": [
      {"role": "system", "content": "Do not make assumptions about what values to plug into functions. Ask for clarification if a user request is ambiguous."},
      {"role": "user", "content": "what is the weather going to be like in San Francisco and Glasgow over the next 4 days"}
    ]
  }'

curl -X POST http://localhost:8080/v1/chat/completions -d '{
  "messages": [
    {"role": "user", "content": "What is 15315*3/55 ?"}
  ],
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "eval_python",
        "parameters": {
          "properties": {
            "expression": {"type": "string"}
          }
        }
      }
    }
  ],
  "max_tokens": 100
}' -N

curl -X POST http://localhost:8080/v1/chat/completions -d '{
  "messages": [
    {"role": "user", "content": "What is life?"}
  ],
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "eval_python",
        "parameters": {
          "properties": {
            "expression": {"type": "string"}
          }
        }
      }
    }
  ],
  "max_tokens": 100
}' -N
